"""The bouncing balls on a small scale: features slower than linear ones, and everything that the page shows."""

import json

import numpy as np
import pytest

from eigenax.cli.main import main
from eigenax.experiments.bouncing_balls import BouncingBalls

SMALL = ["--size", "16", "--radius", "2", "--speed", "0.7", "--frames", "4000", "--held-out", "4000", "--balls", "1"]
SHORT = ["--n", "4", "--steps", "300", "--clips", "16", "--channels", "8,8", "--width", "32"]


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("balls") / "run"
    assert main(["run", "bouncing-balls", *SMALL, *SHORT, "--quiet", "--out", str(folder)]) == 0
    return folder, json.loads((folder / "result.json").read_text())


def test_learned_features_are_slower_than_linear_ones_on_another_video(result):
    slowness = {name: np.array(values) for name, values in result[1]["slowness"].items()}
    assert set(slowness) == {
        "learned",
        "linear SFA",
        "quadratic SFA",
        "linear SFA, two frames",
        "quadratic SFA, two frames",
    }
    assert slowness["learned"].sum() < slowness["linear SFA"].sum()
    assert result[1]["correlation"] < 0.2


def test_the_first_two_features_tell_where_a_ball_is(result):
    told = result[1]["meaning"]
    assert min(told["harmonics"]["cos πx"], told["harmonics"]["cos πy"]) > 0.8
    assert len(told["best_harmonic"]) == len(told["marginal"]) == 4


def test_the_page_has_the_figures_of_the_paper(result):
    folder, found = result
    assert set(found["figures"]) == {"heat-maps", "joint-feature", "slowness", "training"}
    for name in found["figures"]:
        assert 3000 < (folder / "figures" / f"{name}.png").stat().st_size < 200_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--radius", "40"], "--radius must be below half of --size, 64; got 40"),
        (["--frames", "10"], "--frames must be at least 1000"),
        (["--length", "1"], "--length must be at least 2"),
        (["--rate", "2"], "--rate must be at most 1"),
        (["--n", "0"], "--n must be at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(words, said, tmp_path, capsys):
    assert main(["run", "bouncing-balls", *words, "--out", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err


def test_the_paper_preset_is_the_published_one():
    paper = BouncingBalls.with_preset("paper")
    assert (paper.clips, paper.length, paper.channels, paper.width, paper.n) == (24, 10, "32,32,32", 128, 12)
    assert (paper.optimizer, paper.learning_rate, paper.decay, paper.rate) == ("rmsprop", 1e-6, 0.999, 0.01)
    assert (paper.steps, paper.frames, paper.average, paper.sparsity) == (1_000_000, 200_000, "jacobian", "paper")

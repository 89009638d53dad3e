"""The bouncing balls on a small scale: features slower than linear ones, and everything that the page shows."""

import json

import numpy as np
import pytest

from eigenax.cli.main import main
from eigenax.errors import InputError
from eigenax.lab.experiments.bouncing_balls import BouncingBalls
from eigenax.lab.experiments.training import SpINSettings

SMALL = ["--size", "16", "--radius", "2", "--speed", "0.7", "--frames", "4000", "--held-out", "4000", "--balls", "1"]
SHORT = ["--n", "4", "--steps", "300", "--clips", "16", "--channels", "8,8", "--width", "32"]


def test_features_are_slower_than_linear_ones_tell_where_a_ball_is_and_are_shown(tmp_path):
    folder = tmp_path / "run"
    assert main(["run", "bouncing-balls", *SMALL, *SHORT, "--quiet", "--out", str(folder)]) == 0
    result = json.loads((folder / "result.json").read_text())

    slowness = {name: np.array(values) for name, values in result["slowness"].items()}
    classical = {f"{way}{frames}" for way in ("PCA", "linear SFA", "quadratic SFA") for frames in ("", ", two frames")}
    assert set(slowness) == {"learned"} | classical
    assert slowness["learned"].sum() < slowness["linear SFA"].sum()
    assert result["correlation"] < 0.2
    assert result["steps"] == 300

    told = result["meaning"]
    assert min(told["harmonics"]["cos πx"], told["harmonics"]["cos πy"]) > 0.8
    assert len(told["best_harmonic"]) == len(told["marginal"]) == 4

    assert set(result["figures"]) == {"heat-maps", "joint-feature", "slowness", "training"}
    for name in result["figures"]:
        assert 3000 < (folder / "figures" / f"{name}.png").stat().st_size < 200_000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--radius", "40"], "--radius must be below half of --size, 64; got 40"),
        (["--frames", "10"], "--frames must be at least 1000"),
        (["--length", "1"], "--length must be at least 2"),
        (["--ema-rate", "2"], "--ema-rate must be at most 1"),
        (["--n", "0"], "--n must be at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(words, said, tmp_path, capsys):
    assert main(["run", "bouncing-balls", *words, "--out", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err


def test_the_paper_preset_is_the_published_one():
    paper = BouncingBalls.with_preset("paper")
    assert (paper.clips, paper.length, paper.channels, paper.width, paper.n) == (24, 10, "32,32,32", 128, 12)
    assert paper.training == SpINSettings("rmsprop", 0.999, 1e-6, "jacobian", 0.01, 0.0, 0.0, False, "cholesky")
    assert (paper.activation, paper.schedule) == ("relu", "constant")
    assert (paper.steps, paper.frames, paper.sparsity) == (1_000_000, 200_000, "paper")


def test_layers_that_are_too_narrow_for_block_sparsity_are_one_sentence():
    narrow = BouncingBalls(channels="2,2,2", width=4, n=3, sparsity="paper")
    with pytest.raises(InputError, match=r"--channels 2,2,2, --width 4: sparsity='paper' leaves unit .* or wider ones"):
        narrow.network((2, 64, 64))

"""A game on a small scale: three ways to find features, what is measured of each, and what the page shows."""

import json
import os
from multiprocessing import resource_tracker

import numpy as np
import pytest

import eigenax as ex
from eigenax.cli.main import main
from eigenax.lab.datasets.atari import _start_quiet_resource_tracker, gameplay
from eigenax.lab.experiments.atari import Atari
from eigenax.lab.experiments.training import SpINSettings

SMALL = ["--game", "breakout", "--frames", "1500", "--held-out", "1000", "--n", "2", "--steps", "40", "--clips", "4"]
NARROW = ["--channels", "4,4,4", "--width", "16", "--successor-maps", "4", "--successor-width", "16", "--latent", "8"]
SHORT = ["--successor-steps", "40", "--target-every", "10", "--successor-batch", "8"]


def test_three_ways_are_measured_alike_and_shown(tmp_path):
    folder = tmp_path / "run"
    words = [*SMALL, *NARROW, *SHORT, "--data", str(tmp_path / "games")]
    assert main(["run", "atari", *words, "--quiet", "--out", str(folder)]) == 0
    result = json.loads((folder / "result.json").read_text())

    assert result["iterations"] == {"spin": 40, "successor": 40, "pca": 0}
    assert result["target_renewals"] == 4
    for score in ("slowness", "separation", "separation_in_time", "probe"):
        assert set(result[score]) == {"spin", "successor", "pca"}
        assert all(np.isfinite(values).all() for values in result[score].values())
    assert len(result["slowness"]["spin"]) == 2
    assert ex.load(folder).n == 2
    assert sum(result["slowness"]["spin"]) < 0.5 * sum(result["slowness"]["successor"])
    assert len(result["successor_from_zero"]["slowness"]) == 2

    assert set(result["figures"]) == {"extremes", "slowness", "training", "successor-losses"}
    for name in result["figures"]:
        assert 3000 < (folder / "figures" / f"{name}.png").stat().st_size < 200_000
    held_out = tmp_path / "games" / "breakout-1000-seed65536"
    assert len(gameplay("breakout", 1000, held_out, seed=65536).frames) == 1000


def test_a_game_that_is_not_there_is_one_sentence(tmp_path, capsys):
    assert main(["run", "atari", "--game", "space_invader", "--out", str(tmp_path / "run")]) == 2
    assert "there is no Atari game 'space_invader'; did you mean space_invaders" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--successor-steps", "0"], "--successor-steps must be at least 1; got 0"),
        (["--latent", "4"], "--latent must be at least --n, 5; got 4"),
        (["--coarse", "0"], "--coarse must be at least 1; got 0"),
        (["--coarse", "85"], "--coarse must be at most 16, which leaves 5 of the 84 pixels of a frame's side"),
        (["--coarse", "17"], "to 3 convolutions of stride 2; got 17"),
        (["--channels", "4,4,4,4", "--coarse", "16"], "--coarse must be at most 9, which leaves 9 of the 84 pixels"),
        (["--frames", "2000", "--length", "1998"], "--length must be at most 1997: a point is 4 frames"),
        (["--length", "2500"], "--length must be at most 2497: a point is 4 frames, and no episode is longer"),
        (["--latent", str(10**13)], "--successor-maps 64, --successor-width 1024, --latent 10000000000000: Unable to"),
        (["--spare", "-1"], "--spare must be at least 0; got -1"),
        (["--clips", "1"], "--clips times --length must be more than the 10 functions that are learned; got 10"),
        (["--held-out", "10"], "--held-out must be at least 1000; got 10"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(words, said, tmp_path, capsys):
    assert main(["run", "atari", *words, "--out", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run" / "gameplay").exists()


def test_the_paper_preset_is_the_published_one():
    paper = Atari.with_preset("paper")
    assert (paper.clips, paper.length, paper.channels, paper.width, paper.n) == (24, 10, "64,64,64", 128, 5)
    assert paper.training == SpINSettings("rmsprop", 0.999, 1e-6, "jacobian", 0.01, 0.0, 0.0, False, "cholesky")
    assert (paper.activation, paper.schedule) == ("relu", "constant")
    assert (paper.frames, paper.held_out, paper.sparsity) == (500_000, 64_000, "paper")
    rival = paper.successors
    assert (rival.successor_steps, rival.successor_batch, rival.successor_learning_rate) == (300_000, 32, 1e-4)
    assert (rival.target_every, paper.coarse, paper.spare) == (10_000, 1, 0)


def test_what_was_played_stays_where_it_does_not_fit_the_settings(tmp_path, capsys):
    """It was deleted with the folder of the run."""
    folder, words = tmp_path / "run", [*SMALL, *NARROW, *SHORT, "--length", "900"]
    assert main(["run", "atari", *words, "--quiet", "--out", str(folder)]) == 2
    said = capsys.readouterr().err
    assert "--length 900 takes episodes of 903 frames; the longest there is has" in said
    assert f"a new run takes what was played with --data {folder / 'gameplay'}" in said
    assert len(gameplay("breakout", 1500, folder / "gameplay" / "breakout-1500-seed0").frames) == 1500
    assert not (folder / "gameplay" / "breakout-1000-seed65536").exists()  # no need to play that as well


def test_programs_that_free_semaphores_do_not_warn_of_them(monkeypatch):
    monkeypatch.setattr(resource_tracker, "ensure_running", lambda: seen.append(os.environ["PYTHONWARNINGS"]))
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    seen = []
    _start_quiet_resource_tracker()
    assert seen == ["default,ignore:resource_tracker"]
    assert os.environ["PYTHONWARNINGS"] == "default"

"""`eigenax run kernel`, small, to stated errors, and what it leaves."""

import json

import numpy as np
import pytest

import eigenax as ex
from eigenax.lab.experiments.folder import claim, read_experiment
from eigenax.lab.experiments.kernel import KernelModes
from eigenax.lab.experiments.runner import execute


@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param(KernelModes(n=6, points=256), id="line"),
        pytest.param(KernelModes(n=6, points=256, kernel="polynomial", dims=2, preset="plane"), id="plane"),
        pytest.param(KernelModes(n=6, points=256, kernel="polynomial", dims=3, degree=2), id="space"),
    ],
)
def test_a_run_is_close_to_the_closed_form_and_closer_than_nystrom(experiment, tmp_path):
    folder = tmp_path / "run"
    experiment.check()
    claim(folder, experiment)
    execute(experiment, folder, progress=False)
    result = json.loads((folder / "result.json").read_text())
    assert max(result["relative_errors"]) < 1e-4
    assert result["mean_relative_error"] == pytest.approx(np.mean(result["relative_errors"]))
    assert np.mean(result["nystrom_relative_errors"]) > 1e-2
    for name in ("eigenfunctions", "eigenvalues"):
        assert 5_000 < (folder / "figures" / f"{name}.png").stat().st_size < 200_000
    assert (folder / "report.html").stat().st_size > 10_000
    np.testing.assert_array_equal(ex.load(folder).eigenvalues, result["eigenvalues"])
    assert read_experiment(folder) == experiment


def test_no_more_bases_are_tried_than_steps_allow(tmp_path):
    experiment = KernelModes(n=3, points=256, steps=1)
    claim(tmp_path / "run", experiment)
    result = execute(experiment, tmp_path / "run", progress=False)
    assert (result["steps"], result["stopped"]) == (1, "all steps were taken")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"length": 0.0}, "--length must be positive"),
        ({"steps": -1}, "--steps must be at least 0"),
        ({"dims": 0}, "--dims must be at least 1"),
        ({"points": 5}, "--points must be at least 20"),
        ({"kernel": "polynomial", "degree": 2}, "--n must be at most 3, the rank"),
    ],
)
def test_settings_that_make_no_sense_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        KernelModes(**settings).check()


def test_presets_are_settings_that_pass_their_check():
    for preset in KernelModes.presets:
        chosen = KernelModes.with_preset(preset)
        chosen.check()
        assert chosen.preset == preset

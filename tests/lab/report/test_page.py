"""The page repeats the run it shows."""

import dataclasses
import shlex

import pytest

from eigenax.cli.arguments import parse_settings
from eigenax.lab.experiments import ALL_EXPERIMENTS, EXPERIMENTS, find_experiment
from eigenax.lab.experiments.bouncing_balls import BouncingBalls
from eigenax.lab.experiments.folder import claim, read_experiment
from eigenax.lab.experiments.hydrogen import Hydrogen
from eigenax.lab.experiments.molecules import ACETONITRILE
from eigenax.lab.experiments.oscillator import Oscillator
from eigenax.lab.experiments.trained_atom import TrainedAtom
from eigenax.lab.experiments.training import SpINSettings
from eigenax.lab.experiments.user_potential import UserPotential
from eigenax.lab.report.page import command, mode_rows, write_page

NEEDED = {"molecule": {"field": str(ACETONITRILE / "force_field.txt")}}
"""Settings without which an experiment does not begin."""


@pytest.mark.parametrize(
    "experiment",
    [
        Hydrogen(seed=3),
        TrainedAtom(n=4, half_width=12.5, training=SpINSettings(rescale=False, learning_rate=2e-3)),
        Oscillator(dims=3, stiffness="1, 2.5,3"),
        UserPotential(potential="my wells.py:V", dims=2, low="-1,-2", high="3", singularity=("0,0", "-1,0.5")),
        dataclasses.replace(Hydrogen.with_preset("paper"), uncorrected_too=False, training=SpINSettings(decay=0.9)),
        BouncingBalls(training=SpINSettings(finish="cholesky"), clips=12),
    ],
)
def test_the_command_on_the_page_gives_the_same_settings(experiment):
    words = shlex.split(command(experiment))
    first = len(experiment.command) + 1
    assert words[:first] == ["eigenax", *experiment.command]
    assert parse_settings(find_experiment(experiment.name, ALL_EXPERIMENTS), words[first:]).settings == experiment


@pytest.mark.parametrize("name", ALL_EXPERIMENTS)
def test_a_preset_is_what_its_name_gives_on_the_command_line(name):
    cls = find_experiment(name, ALL_EXPERIMENTS)
    first, *_ = cls.presets
    assert parse_settings(cls, []).settings == cls.with_preset(first)
    for preset in cls.presets:
        settings = parse_settings(cls, ["--preset", preset]).settings
        assert settings == cls.with_preset(preset)
        assert (settings.preset, settings.name) == (preset, name)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_preset_is_read_from_a_folder_as_it_was_written(name, tmp_path):
    cls = find_experiment(name)
    for preset in cls.presets:
        settings = dataclasses.replace(cls.with_preset(preset), n=5, seed=7, **NEEDED.get(name, {}))
        claim(tmp_path / preset, settings)
        assert read_experiment(tmp_path / preset) == settings


def test_rows_hold_what_is_known_and_nothing_else():
    result = {"eigenvalues": [1.0], "standard_errors": [0.1], "residuals": [None]}
    assert mode_rows(result) == [{"eigenvalue": 1.0, "standard_error": 0.1}]
    assert mode_rows(result | {"residuals": [0.2]})[0]["residual"] == 0.2
    assert mode_rows(result | {"exact": [2.0], "relative_errors": [0.5]})[0]["relative_error"] == 0.5


@pytest.mark.parametrize(
    ("resumed", "said"), [(True, "<b>12 s</b>since it was resumed, on a device"), (False, "<b>12 s</b>on a device")]
)
def test_seconds_of_a_resumed_run_are_those_since_then(resumed, said, tmp_path):
    result = {
        "experiment": "hydrogen", "eigenvalues": [1.0], "standard_errors": [0.1], "residuals": [None], "steps": 0,
        "wall_seconds": 12.0, "device": "a device", "figures": {}, "resumed": resumed,
    }  # fmt: skip
    assert said in write_page(tmp_path, Hydrogen(), result).read_text()

"""The page repeats the run it shows."""

import shlex

import pytest

from eigenax.cli.main import _parse_settings
from eigenax.lab.experiments.hydrogen import Hydrogen
from eigenax.lab.experiments.oscillator import Oscillator
from eigenax.lab.experiments.user_potential import UserPotential
from eigenax.lab.report.page import command, mode_rows


@pytest.mark.parametrize(
    "experiment",
    [
        Hydrogen(seed=3),
        Hydrogen(**Hydrogen.presets["quick"] | {"preset": "quick", "n": 4, "rescale": False, "half_width": 12.5}),
        Oscillator(dims=3, stiffness="1, 2.5,3"),
        UserPotential(potential="my wells.py:V", dims=2, low="-1,-2", high="3", singularity=("0,0", "-1,0.5")),
        Hydrogen(**Hydrogen.presets["paper"] | {"preset": "paper", "uncorrected_too": False, "decay": 0.9}),
    ],
)
def test_the_command_on_the_page_gives_the_same_settings(experiment):
    words = shlex.split(command(experiment))
    first = len(experiment.command) + 1
    assert words[:first] == ["eigenax", *experiment.command]
    assert _parse_settings(type(experiment), words[first:]).settings == experiment


@pytest.mark.parametrize("cls", [Hydrogen, Oscillator, UserPotential])
def test_no_flags_at_all_are_the_best_preset(cls):
    assert _parse_settings(cls, []).settings == cls.with_preset("best")


def test_rows_hold_what_is_known_and_nothing_else():
    result = {"eigenvalues": [1.0], "standard_errors": [0.1], "residuals": [None]}
    assert mode_rows(result) == [{"eigenvalue": 1.0, "standard_error": 0.1}]
    assert mode_rows(result | {"residuals": [0.2]})[0]["residual"] == 0.2
    assert mode_rows(result | {"exact": [2.0], "relative_errors": [0.5]})[0]["relative_error"] == 0.5

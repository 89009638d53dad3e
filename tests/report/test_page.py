"""The page repeats the run it shows."""

import shlex

import pytest

from eigenax.cli.main import _parse_settings
from eigenax.experiments.hydrogen import Hydrogen
from eigenax.report.page import command, mode_rows


@pytest.mark.parametrize(
    "experiment",
    [
        Hydrogen(seed=3),
        Hydrogen(n=4, rescale=False, half_width=12.5),
        Hydrogen(**Hydrogen.presets["paper"] | {"preset": "paper", "uncorrected_too": False, "decay": 0.9}),
    ],
)
def test_the_command_on_the_page_gives_the_same_settings(experiment):
    words = shlex.split(command(experiment))
    assert words[:3] == ["eigenax", "run", "hydrogen"]
    assert _parse_settings(Hydrogen, words[3:]).settings == experiment


def test_no_flags_at_all_are_the_quick_preset():
    assert _parse_settings(Hydrogen, []).settings == Hydrogen.with_preset("quick")


def test_rows_hold_what_is_known_and_nothing_else():
    result = {"eigenvalues": [1.0], "standard_errors": [0.1], "residuals": [None]}
    assert mode_rows(result) == [{"eigenvalue": 1.0, "standard_error": 0.1, "residual": None}]
    assert mode_rows(result | {"exact": [2.0], "relative_errors": [0.5]})[0]["relative_error"] == 0.5

"""The experiments by name; each is imported when asked for."""

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eigenax.experiments.base import Experiment

EXPERIMENTS = {"hydrogen": "eigenax.experiments.hydrogen:Hydrogen"}


def find_experiment(name: str) -> "type[Experiment]":
    """The settings class of an experiment."""
    if name not in EXPERIMENTS:
        close = difflib.get_close_matches(name, EXPERIMENTS)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(EXPERIMENTS)}"
        raise ValueError(f"unknown experiment {name!r}; {hint}")
    module, _, attribute = EXPERIMENTS[name].partition(":")
    return getattr(import_module(module), attribute)

"""The experiments by name. Each is imported only when it is asked for, so that the command line starts at once."""

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eigenax.lab.experiment import Experiment

EXPERIMENTS = {
    "hydrogen": "eigenax.lab.experiments.hydrogen:Hydrogen",
    "oscillator": "eigenax.lab.experiments.oscillator:Oscillator",
    "box": "eigenax.lab.experiments.box:BoxModes",
    "double-well": "eigenax.lab.experiments.double_well:DoubleWell",
    "coupled-oscillators": "eigenax.lab.experiments.coupled_oscillators:CoupledOscillators",
    "henon-heiles": "eigenax.lab.experiments.henon_heiles:HenonHeiles",
    "torus-cosines": "eigenax.lab.experiments.torus_cosines:TorusCosines",
    "periodic-double-well": "eigenax.lab.experiments.torus_cosines:PeriodicDoubleWell",
    "acetonitrile": "eigenax.lab.experiments.molecules:Acetonitrile",
    "molecule": "eigenax.lab.experiments.molecules:Molecule",
    "sphere": "eigenax.lab.experiments.sphere:Sphere",
    "torus": "eigenax.lab.experiments.torus:Torus",
    "bouncing-balls": "eigenax.lab.experiments.bouncing_balls:BouncingBalls",
    "atari": "eigenax.lab.experiments.atari:Atari",
    "kernel": "eigenax.lab.experiments.kernel:KernelModes",
    "digits": "eigenax.lab.experiments.digits:Digits",
    "gridworld": "eigenax.lab.experiments.gridworld:GridWorld",
}
"""The experiments of `eigenax run`, by name."""
ALL_EXPERIMENTS = EXPERIMENTS | {
    "solve": "eigenax.lab.experiments.user_potential:UserPotential",
    "slow": "eigenax.lab.experiments.user_video:UserVideo",
}
"""All experiments that the folder of a run may belong to: those of `eigenax run`, `solve` and `slow`."""


def find_experiment(name: str, among: Mapping[str, str] = EXPERIMENTS) -> "type[Experiment]":
    """The settings class of an experiment."""
    if name not in among:
        close = difflib.get_close_matches(name, among)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(among)}"
        raise ValueError(f"unknown experiment {name!r}; {hint}")
    module, _, attribute = among[name].partition(":")
    return getattr(import_module(module), attribute)

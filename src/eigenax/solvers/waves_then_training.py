"""Random waves first, then a trained network where waves are not enough."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import PRNGKeyArray

from eigenax.io.checkpoint import Load
from eigenax.modes import Modes
from eigenax.problem import Problem
from eigenax.solvers.base import Info, SavedState, Solver
from eigenax.solvers.gauss_newton import RayleighGaussNewton
from eigenax.solvers.rayleigh_ritz import RayleighRitz

PROMISING = 5e-3
"""Waves go on if the first basis has relative errors below this: larger bases then gain the digits that are left."""
PROMISING_TOLS = 30.0
"""With a `tol`, they also go on if the first basis has errors below this many times the tol."""


class StagedState(NamedTuple):
    """The states of both stages."""

    waves: Any
    problem: Problem | None
    """The problem as it was prepared for training; None while there are only waves."""
    training: Any
    step: int
    """Bases tried and updates made."""


class WavesThenTraining(Solver):
    """`RayleighRitz` with random waves, and `RayleighGaussNewton` if the first basis tells that waves are too few.

    In four to eight dimensions it depends on the potential which of the two is better. The errors of the first basis of
    waves decide. The result is that of the stage whose errors are smaller; `modes.solver` names it.

    >>> WavesThenTraining().name
    'WavesThenTraining'
    """

    waves: RayleighRitz = eqx.field(default_factory=RayleighRitz)
    training: RayleighGaussNewton = eqx.field(default_factory=RayleighGaussNewton)

    def resolved(self, problem: Problem) -> "WavesThenTraining":
        """The same with settings of the training that depend on the problem."""
        return WavesThenTraining(self.waves, self.training.resolved(problem))

    def why_not(self, problem: Problem) -> str | None:
        """Refuse what either stage refuses."""
        return self.waves.why_not(problem) or self.training.why_not(problem)

    def prepared(self, problem: Problem) -> Problem:
        """The problem itself, after it has been checked."""
        return self.waves.prepared(problem)

    def init(self, problem: Problem, key: PRNGKeyArray) -> StagedState:
        """The state before the first basis."""
        return StagedState(self.waves.init(problem, key), None, None, 0)

    def step(self, problem: Problem, state: StagedState, key: PRNGKeyArray) -> tuple[StagedState, Info]:
        """The next basis, or the next updates."""
        if state.training is None:
            waves, info = self.waves.step(problem, state.waves, key)
            state = state._replace(waves=waves, step=state.step + 1)
            if state.step == 1 and not self._waves_are_enough(problem, waves):
                state, info = self._trained_from(problem, state, key), info._replace(finished=None)
            return state, info
        assert state.problem is not None, "prepared with the first state of the training"
        before = int(state.training.step)
        training, info = self.training.step(state.problem, state.training, key)
        return state._replace(training=training, step=state.step + int(training.step) - before), info

    def _waves_are_enough(self, problem: Problem, waves: Any) -> bool:
        """Whether the errors of the first basis are small enough."""
        modes = self.waves.modes(problem, waves)
        worst = _worst(modes)
        return worst <= PROMISING or (problem.tol is not None and worst <= PROMISING_TOLS * problem.tol)

    def _trained_from(self, problem: Problem, state: StagedState, key: PRNGKeyArray) -> StagedState:
        """The state before the first update."""
        prepared = self.training.prepared(problem)
        return state._replace(problem=prepared, training=self.training.init(prepared, key))

    def modes(self, problem: Problem, state: StagedState) -> Modes:
        """The modes of the stage with the smaller errors."""
        waves = self.waves.modes(problem, state.waves)
        if state.training is None or int(state.training.step) == 0:
            return _named(waves, self.waves)
        assert state.problem is not None, "prepared with the first state of the training"
        trained = self.training.modes(state.problem, state.training)
        better = _worst(trained) < _worst(waves)
        return _named(trained, self.training) if better else _named(waves, self.waves)

    def total(self, problem: Problem, state: StagedState) -> int:
        """The number of bases, or one basis and the updates."""
        if state.training is None:
            return self.waves.total(problem, state.waves)
        return 1 + self.training.total(problem, state.training)

    def advice(self, problem: Problem, modes: Modes) -> str:
        """That of the stage the modes are from."""
        return (self.waves if modes.solver == self.waves.name else self.training).advice(problem, modes)

    def settings(self, problem: Problem) -> dict[str, Any]:
        """Those of both stages."""
        parts = {"waves": self.waves.settings(problem), "training": self.training.settings(problem)}
        return {f"{stage} {name}": value for stage, part in parts.items() for name, value in part.items()}

    def saved(self, state: StagedState) -> SavedState:
        """What both stages save."""
        waves = self.waves.saved(state.waves)
        arrays: tuple[Any, ...] = (waves.arrays, np.asarray(state.step))
        if state.training is not None:
            arrays = (*arrays, self.training.saved(state.training).arrays)
        return SavedState(arrays, {"waves": waves.about, "training": state.training is not None})

    def restored(self, problem: Problem, key: PRNGKeyArray, about: Any, load: Load) -> StagedState:
        """Both states from a checkpoint."""
        fresh = self.init(problem, key)
        fresh = self._trained_from(problem, fresh, key) if about["training"] else fresh
        loaded: list[Any] = []

        def part(like: Any) -> Any:
            """The waves' part of what was saved, of which all is loaded together."""
            training = () if fresh.training is None else (fresh.training,)
            loaded.extend(load((like, np.asarray(0), *training)))
            return loaded[0]

        waves = self.waves.restored(problem, key, about["waves"], part)
        training = loaded[2] if about["training"] else None
        return StagedState(waves, fresh.problem, training, int(loaded[1]))


def _worst(modes: Modes) -> float:
    """The largest error, relative to the largest of the values and their range; infinite if one is not known."""
    errors = modes.standard_errors
    size = max(float(np.abs(modes.eigenvalues).max()), float(np.ptp(modes.eigenvalues)), np.finfo(float).tiny)
    return float(np.nan_to_num(errors, nan=np.inf).max()) / size


def _named(modes: Modes, stage: Solver) -> Modes:
    return dataclasses.replace(modes, solver=stage.name)

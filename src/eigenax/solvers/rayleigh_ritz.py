"""The Rayleigh–Ritz method: the best combinations of untrained functions."""

from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.domain import OnDomain
from eigenax.bases.graph import OnGraph, OnTransitions
from eigenax.bases.graph_cells import OnCells
from eigenax.bases.kernel import OnPairs
from eigenax.bases.nodal import OnNodes, OnStates
from eigenax.bases.sizes import Sizes
from eigenax.bases.softmax_cells import SoftmaxCells
from eigenax.bases.time_series import OnSeries
from eigenax.checks import positive_int_or_none
from eigenax.io.checkpoint import Load
from eigenax.modes import Modes
from eigenax.problem import Problem
from eigenax.samples import BATCHES
from eigenax.solvers.base import Info, SavedState, Solver
from eigenax.stop_reason import StopReason

FEW_DIMS = 3
"""Up to this many dimensions, a larger basis soon gains digits."""


class RitzState(NamedTuple):
    """The bases tried so far, and their results."""

    form: Discretisation
    scores: Float[np.ndarray, " count"]
    """The scores of the bases that were tried; NaN for the others."""
    last: Trial | None
    best: Trial | None
    last_guess: Any
    best_guess: Any
    """The initial guesses of the last and of the best trial."""
    step: int


class RayleighRitz(Solver):
    """The Rayleigh–Ritz method, without training: the best combinations, in float64, of the functions of a basis.

    Bases are tried one after the other, and the best one is kept. What their functions are depends on the problem:

    - random waves where the states are, for a differential operator on a box or a surface;
    - any values at the nodes, for graphs and for states that are counted: SciPy finds the eigenvectors of the matrix;
    - random waves of the features, for kernels, series and larger graphs;
    - with `basis=SoftmaxCells()`, cells of a soft partition, for a smooth embedding of a graph.

    The first basis has `n_basis` functions. Each further one is larger, on a domain twice as large, up to `max_basis`.
    On a domain, each basis is measured on `samples` points, and its combinations are found on as many others, but on at
    least 64 for each function. All three numbers are chosen for the problem unless given.

    >>> RayleighRitz(n_basis=64).name
    'RayleighRitz'
    """

    has_long_steps: ClassVar[bool] = True

    basis: SoftmaxCells | None = eqx.field(static=True, default=None)
    n_basis: int | None = eqx.field(static=True, default=None, converter=partial(positive_int_or_none, "n_basis"))
    max_basis: int | None = eqx.field(static=True, default=None, converter=partial(positive_int_or_none, "max_basis"))
    samples: int | None = eqx.field(
        static=True, default=None, converter=partial(positive_int_or_none, "samples", least=BATCHES)
    )

    def __check_init__(self):
        if not isinstance(self.basis, SoftmaxCells | None):
            raise TypeError(
                f"basis must be SoftmaxCells(…) or None, for waves; got {self.basis!r}: n_basis=… sets the number"
            )
        if self.n_basis and self.max_basis and self.n_basis > self.max_basis:
            raise ValueError(f"n_basis must be at most max_basis = {self.max_basis}; got {self.n_basis}")

    @property
    def sizes(self) -> Sizes:
        """The numbers of functions and points that were asked for."""
        return Sizes(self.n_basis, self.max_basis, self.samples)

    def why_not(self, problem: Problem) -> str | None:
        """Refuse a network, a sampler, settings without effect here, and problems for which there is no basis."""
        if problem.sampler is not problem.source:
            return (
                f"RayleighRitz takes points of a source itself and has no use for {type(problem.sampler).__name__}; "
                "give the source inside it, or a solver that trains, such as SpIN() or NaturalGradient()"
            )
        if problem.network is not None:
            return (
                "RayleighRitz makes its own functions and has no use for network=…; leave it out, or give a solver "
                "that trains it, such as SpIN() or NaturalGradient()"
            )
        kinds = discretisations(self.basis)
        needed = [kind.why_not(problem) for kind in kinds]
        if None not in needed:
            takes = "; or ".join(map(str, needed))
            return f"RayleighRitz takes {takes}. Give another solver, such as SpIN(), for the rest"
        if (self.max_basis or problem.n) < problem.n:
            return f"max_basis must be at least n = {problem.n}, a function for each mode; got {self.max_basis}"
        useless = self._sizes_asked_for - self._discretisation(problem).has_use_for
        if not useless:
            return None
        return f"RayleighRitz has no use for {' and '.join(sorted(useless))} on such a problem; leave it out"

    @property
    def _sizes_asked_for(self) -> set[str]:
        return {name for name in Sizes._fields if getattr(self, name) is not None}

    def _discretisation(self, problem: Problem) -> type[Discretisation]:
        """The first discretisation that can solve the problem, if possible one that uses all the sizes asked for."""
        able = [kind for kind in discretisations(self.basis) if kind.why_not(problem) is None]
        return next((kind for kind in able if self._sizes_asked_for <= kind.has_use_for), able[0])

    def prepared(self, problem: Problem) -> Problem:
        """The problem itself, after it has been checked."""
        self._discretisation(problem).check(problem)
        return problem

    def init(self, problem: Problem, key: PRNGKeyArray) -> RitzState:
        """The state before any basis was tried."""
        form = self._discretisation(problem)(problem, self.basis, self.sizes)
        guess = _in_c_order(form.first_guess())
        return RitzState(form, np.full(form.count, np.nan), None, None, guess, guess, 0)

    def step(self, problem: Problem, state: RitzState, key: PRNGKeyArray) -> tuple[RitzState, Info]:
        """Try the next basis."""
        form, number = state.form, state.form.next_trial(state.scores)
        assert number is not None, "`finished` is set when there is no further trial"
        last = state.last
        guess = state.last_guess if last is None or last.failed else _in_c_order(form.next_guess(last))
        trial = form.tried(number, guess)
        scores = state.scores.copy()
        scores[number] = trial.score
        best, best_guess = state.best, state.best_guess
        if best is None or best.failed or _is_better(form, trial, best):
            best, best_guess = trial, guess
        finished = None if trial.failed else form.why_stop(trial, best, scores)
        if finished is None and form.next_trial(scores) is None:
            all_taken = state.step + 1 == problem.max_steps
            finished = StopReason.MAX_STEPS if all_taken else StopReason.LARGEST_BASIS
        return RitzState(form, scores, trial, best, guess, best_guess, state.step + 1), Info(trial.metrics, finished)

    def modes(self, problem: Problem, state: RitzState) -> Modes:
        """The modes of the best basis."""
        assert state.best is not None, "at least one basis is tried"
        return state.form.modes(state.best)

    def advice(self, problem: Problem, modes: Modes) -> str:
        """Advise more functions or, in many dimensions, training."""
        if not problem.operator.differential:
            return ""
        count, dims = len(modes.coefficients), problem.source.shape[0]
        more = f"RayleighRitz(max_basis={2 * count})"
        if dims <= FEW_DIMS:
            return f"{count} functions are too few for these states: take more, {more}"
        return (
            f"{dims} dimensions are many for {count} functions that nothing trains: take SpIN() or NaturalGradient(), "
            f"which train, or {more}"
        )

    def total(self, problem: Problem, state: RitzState) -> int:
        """The number of bases to try: all there are, or `max_steps`."""
        return min(state.form.count, problem.max_steps or state.form.count)

    def saved(self, state: RitzState) -> SavedState:
        """Scores and initial guesses: from these, a resumed run repeats the last and the best trial bit by bit."""
        arrays = (state.scores, state.last_guess, state.best_guess, np.asarray(state.step))
        return SavedState(arrays, {"last": state.last and state.last.number, "best": state.best and state.best.number})

    def restored(self, problem: Problem, key: PRNGKeyArray, about: Any, load: Load) -> RitzState:
        """The state from a checkpoint, after the last and the best trial were repeated."""
        fresh = self.init(problem, key)
        form, like = fresh.form, (fresh.scores, fresh.last_guess, fresh.best_guess, np.asarray(0))
        scores, last_guess, best_guess, step = load(like)
        best = form.tried(about["best"], best_guess)
        last = best if about["last"] == about["best"] else form.tried(about["last"], last_guess)
        return RitzState(form, scores, last, best, last_guess, best_guess, int(step))


def _is_better(form: Discretisation, trial: Trial, best: Trial) -> bool:
    """Whether a trial is better than the best one: by their scores, unless one overrules the other as wrong."""
    scores = trial.score < form.slack * best.score and not form.overrules(best, trial)
    return scores or form.overrules(trial, best)


def _in_c_order(guess: Any) -> Any:
    """The guess in C order, as a file gives it back: sums over a view in another order may differ in the last bit."""
    return jax.tree.map(lambda part: np.asarray(part, order="C"), guess)


def discretisations(basis: SoftmaxCells | None) -> tuple[type[Discretisation], ...]:
    """The discretisations that make this kind of basis, in the order in which they are considered."""
    return (OnDomain, OnNodes, OnStates, OnGraph, OnTransitions, OnSeries, OnPairs) if basis is None else (OnCells,)

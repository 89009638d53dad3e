"""A problem in matrices: bases to try one after the other, and how good each is."""

import functools
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.sizes import Sizes
from eigenax.errors import SingularMomentsError
from eigenax.measurement import Solution
from eigenax.modes import Modes
from eigenax.problem import Problem
from eigenax.stop_reason import StopReason


class Trial(NamedTuple):
    """The best functions in the span of one basis, and how good they are."""

    number: int
    """Of the basis."""
    basis: Any
    score: float
    """What bases are compared by, less being better: residuals, or quotients on data they were not found on."""
    metrics: dict[str, Any]
    """What is said of it: `eigenvalues` and more."""
    solution: Solution | None = None
    """Where it is known before the choice is made."""
    rank: int = 0
    """Directions that could be told apart."""
    failed: SingularMomentsError | None = None
    """Why there are no such functions, if there are none; the score is infinite then."""


class Discretisation(ABC):
    """How one kind of operator becomes matrices on one kind of points.

    Bases have numbers below `count`. A `guess` is a tree of arrays that says where the states are; it is saved with a
    run, and a trial is a function of its number and a guess alone, so that it can be done again.
    """

    problem: Problem
    count: int
    has_use_for: ClassVar[frozenset[str]] = frozenset({"n_basis", "max_basis"})
    """Which sizes it can be told."""
    slack: ClassVar[float] = 1.0
    """A later basis takes the place of the best one if its score is less than so many times as much."""

    @abstractmethod
    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        """Of a problem, with a kind of functions and numbers of them if these were asked for."""

    @classmethod
    @abstractmethod
    def why_not(cls, problem: Problem) -> str | None:
        """What it needs, in a few words, if the problem is another."""

    @classmethod
    def check(cls, problem: Problem) -> None:
        """Look at the operator on a few points, and refuse what is wrong with one sentence.

        How many functions points can tell apart is found with the moments.
        """
        problem.look(1)

    def first_guess(self) -> Any:
        """Before any basis was tried."""
        return ()

    def next_guess(self, trial: Trial) -> Any:
        """After one was."""
        return ()

    @abstractmethod
    def trial(self, number: int, guess: Any) -> Trial:
        """The Rayleigh–Ritz method in a basis, which may have too few functions that can be told apart."""

    def tried(self, number: int, guess: Any) -> Trial:
        """The same; a basis with too few functions, or of unknown score, is worse than all others."""
        try:
            trial = self.trial(number, guess)
        except SingularMomentsError as error:
            return Trial(number, None, np.inf, {}, failed=error)
        return trial if np.isfinite(trial.score) else trial._replace(score=np.inf)

    def next_trial(self, scores: Float[np.ndarray, " count"]) -> int | None:
        """The basis to try next, given the scores of those that were, NaN for the others; nothing after the last."""
        tried = int((~np.isnan(scores)).sum())
        return tried if tried < self.count else None

    def overrules(self, trial: Trial, best: Trial) -> bool:
        """Whether a trial shows that the best one before is wrong, whatever their scores."""
        return False

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Why no other basis need be tried after this one, if there is a reason."""
        return None

    def solution(self, trial: Trial) -> Solution:
        """The functions of a trial, found and measured on all there is; here they were found with it."""
        assert trial.solution is not None, "found with the trial"
        return trial.solution

    @abstractmethod
    def network(self, trial: Trial) -> Any:
        """That whose combinations they are."""

    @abstractmethod
    def signs(self, trial: Trial, solution: Solution) -> np.ndarray:
        """Factors that make the largest value of each function positive."""

    def modes(self, trial: Trial) -> Modes:
        """The result of a trial, which is measured once."""
        if trial.failed is not None:
            raise trial.failed
        if trial.number not in self._measured:
            self._measured[trial.number] = self._result(trial)
        return self._measured[trial.number]

    @functools.cached_property
    def _measured(self) -> dict[int, Modes]:
        """Results by the number of the basis; each is tried once."""
        return {}

    def _result(self, trial: Trial) -> Modes:
        problem, found = self.problem, self.solution(trial)
        return Modes(
            self.network(trial),
            (found.coefficients * self.signs(trial, found)).astype(found.coefficients.dtype),
            found.values,
            found.sampling_errors,
            found.basis_errors,
            found.residuals,
            problem.source.shape,
            problem.which,
            seed=problem.seed,
            precision="float64",
            source=self.measured_on(trial),
            next_eigenvalue=found.next_value,
            note=found.note,
            training_eigenvalues=found.training_values,
            missed=found.missed,
        )

    def measured_on(self, trial: Trial) -> Any:
        """The source, where that is a place and not data."""
        source = self.problem.source
        return source if source.is_endless else None

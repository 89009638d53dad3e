"""What every discretisation does: try one basis after the other, and score each."""

import functools
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.sizes import Sizes
from eigenax.errors import SingularMomentsError
from eigenax.measurement.solution import Solution
from eigenax.modes import Modes
from eigenax.problem import Problem
from eigenax.stop_reason import StopReason


class Trial(NamedTuple):
    """The Rayleigh–Ritz solution in one basis, and its score."""

    number: int
    """The number of the basis."""
    basis: Any
    """Whatever the discretisation needs to know of the basis to finish the solution."""
    score: float
    """What bases are compared by, less being better: residuals, or Rayleigh quotients on held-out data."""
    metrics: dict[str, Any]
    """What is logged: `eigenvalues` and more."""
    solution: Solution | None = None
    """The solution, if the trial itself computes it; otherwise only that of the best trial is computed."""
    rank: int = 0
    """The number of linearly independent functions."""
    failed: SingularMomentsError | None = None
    """The error, if the basis has too few independent functions; the score is infinite then."""


class Discretisation(ABC):
    """How one kind of operator becomes matrices on one kind of points.

    Bases are numbered from 0 to `count` − 1. A `guess` is a tree of arrays that says where the states are. Checkpoints
    save it, and a trial depends on its number and its guess alone, so a resumed run repeats it exactly.
    """

    problem: Problem
    count: int
    has_use_for: ClassVar[frozenset[str]] = frozenset({"n_basis", "max_basis"})
    """The fields of `Sizes` that can be set."""
    slack: ClassVar[float] = 1.0
    """A later basis replaces the best one if its score is below `slack` times the best score."""

    @abstractmethod
    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        """Set up the bases for a problem: `basis` is the kind of functions asked for, or None, `sizes` how many."""

    @classmethod
    @abstractmethod
    def why_not(cls, problem: Problem) -> str | None:
        """What it needs, in a few words, if it cannot treat this problem; None if it can."""

    @classmethod
    def check(cls, problem: Problem) -> None:
        """Evaluate the operator on a few points, and refuse what is wrong in one sentence.

        Whether the points tell enough functions apart is checked later, with the Gram matrix.
        """
        problem.look(1)

    def first_guess(self) -> Any:
        """The guess before any basis was tried."""
        return ()

    def next_guess(self, trial: Trial) -> Any:
        """The guess for the next basis, from the last trial."""
        return ()

    @abstractmethod
    def trial(self, number: int, guess: Any) -> Trial:
        """The Rayleigh–Ritz solution in a basis; raises SingularMomentsError if too few functions are independent."""

    def tried(self, number: int, guess: Any) -> Trial:
        """The same, but a basis with too few independent functions, or a score of NaN, gets an infinite score."""
        try:
            trial = self.trial(number, guess)
        except SingularMomentsError as error:
            return Trial(number, None, np.inf, {}, failed=error)
        return trial if np.isfinite(trial.score) else trial._replace(score=np.inf)

    def next_trial(self, scores: Float[np.ndarray, " count"]) -> int | None:
        """The number of the basis to try next, or None after the last; `scores` are NaN for bases not yet tried."""
        tried = int((~np.isnan(scores)).sum())
        return tried if tried < self.count else None

    def overrules(self, trial: Trial, best: Trial) -> bool:
        """Whether a trial shows that the best one so far is wrong, whatever their scores."""
        return False

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Why no further basis need be tried after this one; None if the search goes on."""
        return None

    def solution(self, trial: Trial) -> Solution:
        """The solution of a trial, found and measured on all data; by default the trial has it already."""
        assert trial.solution is not None, "found with the trial"
        return trial.solution

    @abstractmethod
    def network(self, trial: Trial) -> Any:
        """The network of basis functions whose combinations the modes are."""

    @abstractmethod
    def signs(self, trial: Trial, solution: Solution) -> np.ndarray:
        """Signs, or phases of complex functions, that make the value of largest modulus of each one positive."""

    def modes(self, trial: Trial) -> Modes:
        """The result of a trial, computed once."""
        if trial.failed is not None:
            raise trial.failed
        if trial.number not in self._results:
            self._results[trial.number] = self._result(trial)
        return self._results[trial.number]

    @functools.cached_property
    def _results(self) -> dict[int, Modes]:
        """Results by the number of the basis, each of which is tried once."""
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
        """The source that results keep to draw more points from; None if it is data."""
        source = self.problem.source
        return source if source.is_endless else None

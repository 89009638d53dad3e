"""Integral operators: random waves of rows of numbers, with sums over all pairs of rows."""

from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.pair_sums import (
    Ritz,
    common_error,
    gram_of,
    mean_and_error,
    mean_coefficients,
    orthonormal,
    ritz_in_span,
    too_few_independent,
)
from eigenax.bases.quadrature import Quadrature, some_points
from eigenax.bases.random_waves import RandomWaves, random_waves, signs_of
from eigenax.bases.search import faster_then_more
from eigenax.bases.sizes import Sizes
from eigenax.core.ritz import distance_to_exact
from eigenax.measurement.solution import Solution
from eigenax.modes import Which
from eigenax.networks.base import Compose
from eigenax.operators.kernel import check_gram
from eigenax.problem import Problem
from eigenax.stop_reason import StopReason

FEW, MOST = 128, 1024
"""Waves of the smallest and of the largest basis, unless numbers are asked for."""
SPEEDS = tuple(0.5 * 2.0**octave for octave in range(8))
"""Frequencies of waves that are tried, per standard deviation of a column."""
DENSE_POINTS = 2048
"""Points whose dense matrix number and speed of the waves are chosen by."""
MISSED = 1e-6
"""Waves are good enough if their eigenvalues of the dense matrix are too small by no more than this share of each."""
WORSE = 10
"""Faster waves are tried until they miss this many times as much as the best ones."""
ALL_PAIRS = 20_000
"""Up to this many rows of data all pairs are taken."""
SUBSET = 16_384
"""With more rows, all pairs of several random subsets of this many rows."""
SIZES = (2048, 4096, 8192)
"""Points drawn from a distribution: more of them until errors are small enough."""
ENOUGH = 1e-4
"""Errors below this share of each eigenvalue are small enough."""
REPEATS = 4
"""Sets of points that eigenvalues are measured on; their scatter is the error."""
FOUND_ON = 4096
"""The most points that all waves are evaluated on; the functions found are then evaluated on more."""
ZERO = 1e-12
"""Eigenvalues below this share of the matrix norm may be rounding."""
ROUNDING = 1e-13
"""Errors are at least this share of the largest value."""


class OnPairs(Discretisation):
    """K u(x) = E_x'[k(x, x') u(x')] on rows of numbers: sines of random combinations of the columns, and a constant.

    The number of waves, by default 128 to 1024 or 16 for each mode, and their speed are chosen so that they reproduce
    the eigenvalues of the dense matrix of `DENSE_POINTS` points.

    Data: all pairs of rows are taken, those of a row with itself too, so that the values are those of the matrix
    k(x_i, x_j)/N. Beyond `ALL_PAIRS` rows several random subsets are taken. A distribution: functions are found on
    evenly spread, weighted points, denser towards its tails, and measured on several other sets of them, with more
    points until their scatter is small. Errors are that scatter, and the distance from exact values that residuals
    allow.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        n, self.rows = problem.n, problem.source.rows
        # The sign makes the eigenvalues that are asked for the largest ones.
        self.operator = -problem.descending
        self.chosen_on = some_points(problem.source, problem.seed, 0, max(DENSE_POINTS, 4 * 2 ** (n - 1).bit_length()))
        gram = gram_of(self.operator, self.chosen_on.x, self.chosen_on.x)
        check_gram(gram)
        self.roots = np.sqrt(self.chosen_on.weights)
        self.matrix = self.roots[:, None] * gram * self.roots
        self.exact = _largest(self.matrix, n)
        _check_rank(self.exact, float(np.linalg.norm(self.matrix)), problem.which)
        counts = sizes.counts(n, FEW, MOST)
        # As many waves as points can take any values there: more are not needed.
        self.counts = counts[: 1 + sum(count < len(self.chosen_on.x) for count in counts)]
        self.problem, self.count = problem, len(self.counts) * len(SPEEDS)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes a real kernel on rows of numbers or on a density."""
        operator, source = problem.operator, problem.source
        known = operator.integral and not operator.complex and len(source.shape) == 1
        return None if known else "Kernel, or a sum of them, real, on rows of numbers or a density"

    @classmethod
    def check(cls, problem: Problem) -> None:
        """Evaluate the operator on a few points; there must be n distinct rows."""
        rows = problem.source.rows
        problem.look(problem.n if rows is None else 1)
        if rows is None:
            return
        distinct = len(np.unique(rows, axis=0))
        if distinct < problem.n:
            raise ValueError(
                f"n = {problem.n} functions cannot be told apart on {distinct} different rows: ask for fewer modes, or "
                "give more rows"
            )

    def next_trial(self, scores: Float[np.ndarray, " count"]) -> int | None:
        """Faster waves until they get worse, then more waves of about the best speed."""
        missed = np.log(np.maximum(scores, np.finfo(float).tiny)).reshape(-1, len(SPEEDS))
        chosen = faster_then_more(missed, np.log(WORSE), np.log(MISSED))
        return None if chosen is None else chosen[0] * len(SPEEDS) + chosen[1]

    def trial(self, number: int, guess: Any) -> Trial:
        """Scored by how much smaller the Ritz values are than the dense matrix's eigenvalues, relative to each."""
        more, speed = divmod(number, len(SPEEDS))
        waves = random_waves(self.chosen_on.x, self.counts[more], SPEEDS[speed], self.problem.seed)
        basis, _ = orthonormal(self.roots[:, None] * waves.with_constant(self.chosen_on.x))
        if basis.shape[1] < self.problem.n:
            raise too_few_independent(self.problem.n, basis.shape[1])
        found = np.linalg.eigvalsh(basis.T @ self.matrix @ basis)[::-1][: self.problem.n]
        metrics = {"eigenvalues": (-self.problem.sign * found).tolist()}
        metrics |= {"waves": self.counts[more], "speed": SPEEDS[speed]}
        return Trial(number, waves, float((1 - found / self.exact).max()), metrics)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """EXACT if the waves reproduce the eigenvalues of the dense matrix."""
        return StopReason.EXACT if best.score <= MISSED else None

    def solution(self, trial: Trial) -> Solution:
        """The solution over all pairs of rows, or over several sets of points."""
        n, waves, progress = self.problem.n, trial.basis, self.problem.progress
        if self.rows is not None and len(self.rows) <= ALL_PAIRS:
            every = Quadrature(self.rows, np.full(len(self.rows), 1 / len(self.rows)))
            found = ritz_in_span(self.operator, every, waves.with_constant(every.x), n, progress)
            scatter = np.zeros(len(found.values))
        else:
            found, scatter = self._solution_on_several_sets(waves)
        values, residuals, coefficients = found
        missing = np.minimum(distance_to_exact(values, residuals), residuals)
        missing = np.maximum(missing, ROUNDING * np.abs(values).max())
        signed = -self.problem.sign * values
        beyond = float(signed[n]) if len(signed) > n else None
        return Solution(signed[:n], coefficients[:, :n], scatter[:n], missing[:n], residuals[:n], beyond)

    def network(self, trial: Trial) -> Compose:
        """The waves and a constant."""
        return trial.basis.network()

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """Signs from the points that the waves were chosen on."""
        return signs_of([trial.basis.combined(self.chosen_on.x, solution.coefficients)])

    def _solution_on_several_sets(self, waves: RandomWaves) -> "tuple[Ritz, Float[np.ndarray, ' m']]":
        """Functions found on some points and measured on several other sets; with the errors of the mean values."""
        p, operator = self.problem, self.operator
        repeats, values, errors, found = [], np.zeros(p.n), np.zeros(p.n), None
        for size in SIZES if self.rows is None else (SUBSET,):
            if found is None or size <= FOUND_ON:
                first = some_points(p.source, p.seed, 0, min(size, FOUND_ON))
                found = ritz_in_span(operator, first, waves.with_constant(first.x), p.n, p.progress)
            repeats = self._on_other_points(waves, found, size)
            values, errors = mean_and_error(repeats)
            if self.rows is None:
                sizes = [size // part for part in (2, 4) if size // part >= 2 * len(found.values)]
                fewer = [mean_and_error(self._on_other_points(waves, found, less))[0] for less in sizes]
                errors = np.hypot(errors, common_error([values, *fewer]))
            if (errors[: p.n] <= ENOUGH * np.abs(values[: p.n])).all():
                break
        assert found is not None, "there is at least one size"
        residuals = np.sqrt(np.mean([repeat.residuals**2 for repeat in repeats], axis=0))
        return Ritz(values, residuals, found.coefficients @ mean_coefficients(repeats)), errors

    def _on_other_points(self, waves: RandomWaves, found: Ritz, size: int) -> list[Ritz]:
        """The Rayleigh–Ritz problem of the functions found, on several other sets of points."""
        p = self.problem
        others = [some_points(p.source, p.seed, repeat, size) for repeat in range(1, REPEATS + 1)]
        return [
            ritz_in_span(self.operator, points, waves.combined(points.x, found.coefficients), p.n, p.progress)
            for points in others
        ]


def _largest(matrix: Float[np.ndarray, "p p"], n: int) -> Float[np.ndarray, " n"]:
    """The largest eigenvalues of a symmetric matrix, descending."""
    if n < len(matrix) // 64:
        try:
            found = eigsh(matrix, n, which="LA", v0=np.ones(len(matrix)), maxiter=20, return_eigenvectors=False)
            return np.sort(found)[::-1]
        except ArpackNoConvergence:  # for example if many eigenvalues are zero
            pass
    last = len(matrix) - 1
    return scipy.linalg.eigh(matrix, eigvals_only=True, subset_by_index=(last - n + 1, last))[::-1]


def _check_rank(exact: Float[np.ndarray, " n"], size: float, which: Which) -> None:
    """Refuse to look for eigenvalues that only rounding distinguishes from zero."""
    rank, side = int((exact > ZERO * size).sum()), "above" if which == "largest" else "below"
    if rank == 0:
        other = "smallest" if which == "largest" else "largest"
        raise ValueError(
            f"the kernel has no eigenvalues {side} zero, where those of any kernel accumulate: ask for which={other!r}"
        )
    if rank < len(exact):
        raise ValueError(
            f"the kernel has {rank} eigenvalues {side} zero on this source, up to rounding, but n is {len(exact)}: ask "
            f"for at most {rank} modes"
        )

"""Integral operators: random waves of rows of numbers, over all pairs of these."""

import itertools
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float
from scipy.ndimage import maximum_filter1d
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.quadrature import Quadrature, some_points
from eigenax.bases.random_waves import RandomWaves, random_waves, signs_of
from eigenax.bases.search import faster_then_more
from eigenax.bases.sizes import Sizes
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.ritz import CUTOFFS, combine, distance_to_exact, whiten
from eigenax.errors import SingularMomentsError
from eigenax.measurement import Solution
from eigenax.modes import Which
from eigenax.networks.base import Compose
from eigenax.operators.base import Operator
from eigenax.operators.kernel import check_finite, check_gram
from eigenax.problem import Problem
from eigenax.progress import progress_track
from eigenax.stop_reason import StopReason

FEW, MOST, SPEEDS = 128, 1024, tuple(0.5 * 2.0**octave for octave in range(8))
"""How many waves, and how fast they change over a standard deviation of a column; a dense matrix chooses."""
LOOKED_AT, MISSED, WORSE = 2048, 1e-6, 10
"""Points of that matrix, what waves may miss of its eigenvalues, relative to each, and by what factor more some may
miss while still faster ones are tried."""
ALL_PAIRS, SUBSET = 20_000, 16_384
"""Rows of data up to which all pairs are taken, and rows of each of several subsets where there are more."""
SIZES, ENOUGH, REPEATS, FOUND_ON = (2048, 4096, 8192), 1e-4, 4, 4096
"""Points drawn of a distribution until the scatter between repeats is a small enough share of each eigenvalue, and the
most that all waves are evaluated on; those that are found, on more."""
FALL = 1 / 8, 3 / 4
"""The least and the largest factor by which twice the points are taken to bring the error of a lattice down."""
ZERO, ROUNDING = 1e-12, 1e-13
"""The least eigenvalue and the least error, as shares of the largest value."""
BLOCK, GUARDS = 2**22, 16
"""Pairs that are held at once, and functions kept beyond twice those asked for."""


class Ritz(NamedTuple):
    """The largest values over a set of points within the span of some functions, residuals, and what combines these."""

    values: Float[np.ndarray, " m"]
    residuals: Float[np.ndarray, " m"]
    coefficients: Float[np.ndarray, "f m"]


class OnPairs(Discretisation):
    """K u(x) = E_x'[k(x, x') u(x')] on rows of numbers: sines of random combinations of the columns and a constant.

    How many of those that are allowed, by default 128 to 1024 or 16 for each mode, and how fast is what reaches the
    eigenvalues of the dense matrix of `LOOKED_AT` points. Of data all pairs of rows are taken, each row with itself
    too, so that the values are those of the matrix k(x_i, x_j)/N; beyond `ALL_PAIRS` rows, those of several random
    subsets. A distribution is found on evenly spread points, crowded towards its tails and weighted, and measured on
    others: as many as bring the scatter down. Errors are that scatter, and how far residuals say that waves may be from
    the exact values.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        n, self.rows = problem.n, problem.source.rows
        # From the largest on, whichever end is asked for.
        self.operator = -problem.descending
        self.some = some_points(problem.source, problem.seed, 0, max(LOOKED_AT, 4 * 2 ** (n - 1).bit_length()))
        gram = _gram_of(self.operator, self.some.x, self.some.x)
        check_gram(gram)
        self.roots = np.sqrt(self.some.weights)
        self.matrix = self.roots[:, None] * gram * self.roots
        self.exact = _largest(self.matrix, n)
        _check_rank(self.exact, float(np.linalg.norm(self.matrix)), problem.which)
        counts = sizes.counts(n, FEW, MOST)
        # As many waves as there are points take any values there.
        self.counts = counts[: 1 + sum(count < len(self.some.x) for count in counts)]
        self.problem, self.count = problem, len(self.counts) * len(SPEEDS)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes a kernel, and all pairs of rows or of points of a density."""
        operator, source = problem.operator, problem.source
        known = operator.integral and not operator.complex and len(source.shape) == 1
        return None if known else "Kernel, or a sum of them, real, on rows of numbers or a density"

    @classmethod
    def check(cls, problem: Problem) -> None:
        """The kernel must be finite and symmetric, and the rows must tell n functions apart."""
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
        """Faster waves until they get worse, then more waves of about the speed that was best."""
        missed = np.log(np.maximum(scores, np.finfo(float).tiny)).reshape(-1, len(SPEEDS))
        chosen = faster_then_more(missed, np.log(WORSE), np.log(MISSED))
        return None if chosen is None else chosen[0] * len(SPEEDS) + chosen[1]

    def trial(self, number: int, guess: Any) -> Trial:
        """What waves miss of the eigenvalues of the dense matrix, relative to each."""
        more, speed = divmod(number, len(SPEEDS))
        waves = random_waves(self.some.x, self.counts[more], SPEEDS[speed], self.problem.seed)
        basis, _ = _orthonormal(self.roots[:, None] * waves.with_constant(self.some.x))
        if basis.shape[1] < self.problem.n:
            raise _too_alike(self.problem.n, basis.shape[1])
        found = np.linalg.eigvalsh(basis.T @ self.matrix @ basis)[::-1][: self.problem.n]
        told = {"eigenvalues": (-self.problem.sign * found).tolist()}
        told |= {"waves": self.counts[more], "speed": SPEEDS[speed]}
        return Trial(number, waves, float((1 - found / self.exact).max()), told)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Where the dense matrix has no more to tell."""
        return StopReason.EXACT if best.score <= MISSED else None

    def solution(self, trial: Trial) -> Solution:
        """Over all pairs of rows, or over several sets of points."""
        n, waves, progress = self.problem.n, trial.basis, self.problem.progress
        if self.rows is not None and len(self.rows) <= ALL_PAIRS:
            every = Quadrature(self.rows, np.full(len(self.rows), 1 / len(self.rows)))
            found = _within(self.operator, every, waves.with_constant(every.x), n, progress)
            scatter = np.zeros(len(found.values))
        else:
            found, scatter = self._repeated(waves)
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
        """From the points that waves were chosen on."""
        return signs_of([trial.basis.combined(self.some.x, solution.coefficients)])

    def _repeated(self, waves: RandomWaves) -> "tuple[Ritz, Float[np.ndarray, ' m']]":
        """What is found on some points and measured on others, several times, and the error of the values' mean."""
        p, operator = self.problem, self.operator
        repeats, values, errors, found = [], np.zeros(p.n), np.zeros(p.n), None
        for size in SIZES if self.rows is None else (SUBSET,):
            if found is None or size <= FOUND_ON:
                first = some_points(p.source, p.seed, 0, min(size, FOUND_ON))
                found = _within(operator, first, waves.with_constant(first.x), p.n, p.progress)
            repeats = self._elsewhere(waves, found, size)
            values, errors = _mean_value(repeats)
            if self.rows is None:
                sizes = [size // part for part in (2, 4) if size // part >= 2 * len(found.values)]
                fewer = [_mean_value(self._elsewhere(waves, found, less))[0] for less in sizes]
                errors = np.hypot(errors, _unseen([values, *fewer]))
            if (errors[: p.n] <= ENOUGH * np.abs(values[: p.n])).all():
                break
        assert found is not None, "there is at least one size"
        residuals = np.sqrt(np.mean([repeat.residuals**2 for repeat in repeats], axis=0))
        return Ritz(values, residuals, found.coefficients @ _together(repeats)), errors

    def _elsewhere(self, waves: RandomWaves, found: Ritz, size: int) -> list[Ritz]:
        """Functions on several sets of points that they were not found on."""
        p = self.problem
        others = [some_points(p.source, p.seed, repeat, size) for repeat in range(1, REPEATS + 1)]
        return [
            _within(self.operator, points, waves.combined(points.x, found.coefficients), p.n, p.progress)
            for points in others
        ]


def _mean_value(repeats: list[Ritz]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The mean of the values over repeats and its standard error.

    Values that are almost alike change places, which hides how far each of them moves.
    """
    each = np.stack([repeat.values for repeat in repeats])
    return each.mean(0), maximum_filter1d(each.std(0, ddof=1), 3) / np.sqrt(len(repeats))


def _unseen(values: list[Float[np.ndarray, " m"]]) -> Float[np.ndarray, " m"]:
    """The error that all lattices of a size share: what is left if values at half, a quarter … of it go on as they do.

    A kernel with a kink where its points meet, such as exp(−|x − x'|), is the same at each shift of a lattice.
    """
    changes = [maximum_filter1d(np.abs(more - less), 3) for more, less in itertools.pairwise(values)]
    if not changes:
        return np.zeros_like(values[0])
    last, before = changes[0], changes[-1] if len(changes) > 1 else np.zeros_like(changes[0])
    fall = np.clip(last / np.maximum(before, np.finfo(float).tiny), *FALL)
    return last * fall / (1 - fall)


@eqx.filter_jit
def _gram(operator: Operator, x: Float[Array, "b d"], y: Float[Array, "c d"]) -> Float[Array, "b c"]:
    """The kernel, or the sum of several, at all pairs."""
    return operator.between(x, y)


def _gram_of(operator: Operator, x: Float[np.ndarray, "b d"], y: Float[np.ndarray, "c d"]) -> Float[np.ndarray, "b c"]:
    with precision_scope("float64"), full_precision():
        return np.asarray(_gram(operator, jnp.asarray(x), jnp.asarray(y)), np.float64)


def _largest(matrix: Float[np.ndarray, "p p"], n: int) -> Float[np.ndarray, " n"]:
    """The largest eigenvalues of a symmetric matrix, descending."""
    if n < len(matrix) // 64:
        try:
            found = eigsh(matrix, n, which="LA", v0=np.ones(len(matrix)), maxiter=20, return_eigenvectors=False)
            return np.sort(found)[::-1]
        except ArpackNoConvergence:  # as where many are zero
            pass
    last = len(matrix) - 1
    return scipy.linalg.eigh(matrix, eigvals_only=True, subset_by_index=(last - n + 1, last))[::-1]


def _check_rank(exact: Float[np.ndarray, " n"], size: float, which: Which) -> None:
    """Refuse to look for eigenvalues that nothing but rounding tells from zero."""
    rank, side = int((exact > ZERO * size).sum()), "above" if which == "largest" else "below"
    if rank == 0:
        other = "smallest" if which == "largest" else "largest"
        raise ValueError(
            f"the kernel has no eigenvalues {side} zero, where those of every kernel pile up: ask for which={other!r}"
        )
    if rank < len(exact):
        raise ValueError(
            f"the kernel has {rank} eigenvalues {side} zero on this source, up to rounding, but n is {len(exact)}: ask "
            f"for at most {rank} modes"
        )


def _orthonormal(values: Float[np.ndarray, "p f"]) -> tuple[Float[np.ndarray, "p r"], Float[np.ndarray, "f r"]]:
    """An orthonormal basis of the columns' span and the combinations of columns that it is.

    Made orthonormal twice: the second time mends what rounding has left of small combinations.
    """
    combinations = np.eye(values.shape[1])
    for _ in range(2):
        matrix, _ = whiten(values.T @ values, *CUTOFFS["summed"])
        values, combinations = values @ matrix, combinations @ matrix
    return values, combinations


def _within(
    operator: Operator, points: Quadrature, functions: Float[np.ndarray, "p f"], n: int, progress: bool = False
) -> Ritz:
    """The n largest values, and some more, in the span of functions, given by their values at the points."""
    roots = np.sqrt(points.weights)
    basis, combinations = _orthonormal(roots[:, None] * functions)
    if basis.shape[1] < n:
        raise _too_alike(n, basis.shape[1])
    block = max(1, BLOCK // len(roots))
    applied = np.empty_like(basis)
    for first in progress_track(range(0, len(roots), block), "pairs", show=progress):
        part = slice(first, first + block)
        gram = _gram_of(operator, points.x[part], points.x)
        if points.own != points.others:
            own = gram[:, part].diagonal()
            gram = points.others * gram
            np.fill_diagonal(gram[:, part], points.own * own)
        applied[part] = roots[part, None] * (gram @ (roots[:, None] * basis))
    check_finite(applied)
    matrix = basis.T @ applied
    found, rotation = np.linalg.eigh((matrix + matrix.T) / 2)
    more = min(len(found), 2 * n + GUARDS)
    found, rotation = found[::-1][:more], rotation[:, ::-1][:, :more]
    residuals = np.linalg.norm(applied @ rotation - basis @ rotation * found, axis=0)
    return Ritz(found, residuals, combinations @ rotation)


def _too_alike(n: int, rank: int) -> SingularMomentsError:
    return SingularMomentsError(
        f"n = {n} functions cannot be told apart on these points, only {rank} can: ask for fewer modes, or give more "
        "points"
    )


def _together(repeats: list[Ritz]) -> Float[np.ndarray, "m m"]:
    """Coefficients that are best under the mean of Σ and Π over repeats, each of which has Cᵀ Σ C = 1, Cᵀ Π C = Λ."""
    inverses = [np.linalg.inv(repeat.coefficients) for repeat in repeats]
    sigma = np.mean([inverse.T @ inverse for inverse in inverses], axis=0)
    pi = np.mean(
        [inverse.T @ (r.values[:, None] * inverse) for inverse, r in zip(inverses, repeats, strict=True)], axis=0
    )
    return combine(sigma, pi, sign=-1).coefficients

"""Eigenfunctions of integral operators without training: the best combinations of random waves, over all pairs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float
from scipy.ndimage import maximum_filter1d
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from eigenax.core.batch import Points
from eigenax.core.precision import counting_in, full_precision
from eigenax.core.ritz import CUTOFFS, combine, distance_to_exact, whiten
from eigenax.galerkin.quadrature import Quadrature, some_points
from eigenax.galerkin.random_waves import RandomWaves, random_waves, signs_of
from eigenax.modes import Modes, Which
from eigenax.operators.base import Operator
from eigenax.operators.kernel import Kernel, check_finite, check_gram
from eigenax.solvers.galerkin import Galerkin
from eigenax.sources.arrays import Arrays
from eigenax.sources.base import Source
from eigenax.sources.distribution import Distribution
from eigenax.sources.mixture import Component
from eigenax.sources.surface import is_place
from eigenax.training.progress import progress_track

FEW, MOST, SPEEDS = 128, 1024, tuple(0.5 * 2.0**octave for octave in range(8))
"""How many waves, and how fast they change over a standard deviation of a column; a dense matrix chooses."""
LOOKED_AT, MISSED = 2048, 1e-6
"""Points of that matrix, and what waves may miss of its eigenvalues, relative to each."""
ALL_PAIRS, SUBSET = 20_000, 16_384
"""Rows of data up to which all pairs are taken, and rows of each of several subsets where there are more."""
SIZES, ENOUGH, REPEATS, FOUND_ON = (2048, 4096, 8192), 1e-4, 4, 4096
"""Points drawn of a distribution until the scatter between repeats is a small enough share of each eigenvalue, and the
most that all waves are evaluated on; those that are found, on more."""
ZERO, ROUNDING = 1e-12, 1e-13
"""The least eigenvalue and the least error, as shares of the largest value."""
BLOCK, GUARDS = 2**22, 16
"""Pairs that are held at once, and functions kept beyond twice those asked for."""


class Ritz(NamedTuple):
    """The largest values over a set of points within the span of some functions, residuals, and what combines these."""

    values: Float[np.ndarray, " m"]
    residuals: Float[np.ndarray, " m"]
    coefficients: Float[np.ndarray, "f m"]


def kernel_modes(
    operator: Operator,
    source: Source | Component,
    n: int,
    *,
    which: Which = "largest",
    seed: int = 0,
    solver: Galerkin | None = None,
    progress: bool = False,
) -> Modes:
    """The first n eigenfunctions of K u(x) = E_x'[k(x, x') u(x')] on rows of numbers, in float64 and without training.

    Rayleigh–Ritz in the span of sines of random combinations of the columns and a constant. How many of those that
    `solver` allows, by default 128 to 1024 or 16 for each mode, and how fast is what reaches the eigenvalues of the
    dense matrix of `LOOKED_AT` points. Of data all pairs of rows are taken, each row with itself too, so that the
    values are those of the matrix k(x_i, x_j)/N; beyond `ALL_PAIRS` rows, those of several random subsets. A
    distribution is found on evenly spread points, crowded towards its tails and weighted, and measured on others: as
    many as bring the scatter down. Standard errors are that scatter, and how far residuals say that waves may be from
    the exact values.

    >>> from eigenax import Gaussian
    >>> smooth = Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
    >>> kernel_modes(smooth, Gaussian(0.0, 1.0), n=3).eigenvalues.round(4)
    array([0.618 , 0.2361, 0.0902])
    """
    source, sign = _as_source(operator, source), 1.0 if which == "largest" else -1.0
    rows = _rows_of(source, n)
    signed = sign * operator
    some = some_points(source, rows, seed, 0, max(LOOKED_AT, 4 * 2 ** (n - 1).bit_length()))
    operator.check(Points(jnp.asarray(some.x[:64], float), jnp.ones(len(some.x[:64]))))
    waves = _chosen_waves(signed, some, n, which, seed, (solver or Galerkin(FEW)).counts(n, MOST))
    if rows is not None and len(rows) <= ALL_PAIRS:
        every = Quadrature(rows, np.full(len(rows), 1 / len(rows)))
        found, scatter = _within(signed, every, waves.with_constant(every.x), n, progress), 0.0
    else:
        found, scatter = _repeated(signed, source, rows, waves, n, seed, progress)
    values, residuals, coefficients = found
    missing = np.minimum(distance_to_exact(values, residuals), residuals)
    errors = np.maximum(np.hypot(scatter, missing), ROUNDING * np.abs(values).max())
    signs = signs_of([waves.combined(some.x, coefficients)])
    return Modes(
        waves.network(), (coefficients * signs)[:, :n], sign * values[:n], errors[:n],
        residuals[:n], source.shape, which, 0, seed, "float64",
        source if is_place(source) or isinstance(source, Distribution) else None, "nothing is trained",
    )  # fmt: skip


def is_kernel(operator: Any) -> bool:
    """Whether an operator is a kernel, or kernels multiplied by numbers and added.

    >>> is_kernel(2 * Kernel(lambda x, y: x @ y))
    True
    """
    return isinstance(operator, Operator) and all(isinstance(term, Kernel) for _, term in operator.terms())


def _as_source(operator: Operator, source: Source | Component) -> Source:
    """The source of what draws points, refused unless its points are rows of numbers."""
    made = source if isinstance(source, Source) else Distribution(source)
    if not is_kernel(operator):
        raise TypeError(f"kernel_modes needs a Kernel, or a sum of them; got {type(operator).__name__}: call solve")
    if len(made.shape) != 1:
        raise ValueError(
            f"kernel_modes needs points that are rows of numbers; got points of shape {made.shape}: flatten them, or "
            "give solve a network to train"
        )
    return made


def _rows_of(source: Source, n: int) -> Float[np.ndarray, "rows d"] | None:
    """The rows of data, refused if they are too few, and nothing for a distribution."""
    if not isinstance(source, Arrays):
        return None
    rows = np.asarray(source.data, np.float64)
    distinct = len(np.unique(rows, axis=0))
    if distinct < n:
        raise ValueError(
            f"n = {n} functions cannot be told apart on {distinct} different rows: ask for fewer modes, or give "
            "more rows"
        )
    return rows


@eqx.filter_jit
def _gram(operator: Operator, x: Float[Array, "b d"], y: Float[Array, "c d"]) -> Float[Array, "b c"]:
    """The kernel, or the sum of several, at all pairs."""
    each = [factor * term.between(x, y) for factor, term in operator.terms() if isinstance(term, Kernel)]
    return sum(each[1:], start=each[0])


def _gram_of(operator: Operator, x: Float[np.ndarray, "b d"], y: Float[np.ndarray, "c d"]) -> Float[np.ndarray, "b c"]:
    with counting_in("float64"), full_precision():
        return np.asarray(_gram(operator, jnp.asarray(x), jnp.asarray(y)), np.float64)


def _chosen_waves(
    operator: Operator, points: Quadrature, n: int, which: Which, seed: int, counts: Sequence[int]
) -> RandomWaves:
    """The fewest and slowest waves that reach the largest eigenvalues of the dense matrix, or the closest to them."""
    gram = _gram_of(operator, points.x, points.x)
    check_gram(gram)
    roots = np.sqrt(points.weights)
    matrix = roots[:, None] * gram * roots
    exact = _largest(matrix, n)
    _check_rank(exact, float(np.linalg.norm(matrix)), which)
    best, choice, speeds = np.inf, None, SPEEDS
    for count in counts:
        least = np.inf
        for speed in speeds:
            waves = random_waves([points.x], count, speed, seed)
            basis, _ = _orthonormal(roots[:, None] * waves.with_constant(points.x))
            if basis.shape[1] < n:
                continue
            found = np.linalg.eigvalsh(basis.T @ matrix @ basis)[::-1][:n]
            missed = float((1 - found / exact).max())
            least = min(least, missed)
            if missed < best:
                best, choice = missed, (waves, speed)
            if best <= MISSED or missed > 10 * least:  # waves that are too fast are worse the faster they are
                break
        if best <= MISSED or count >= len(points.x):
            break
        speeds = SPEEDS if choice is None else tuple(choice[1] * factor for factor in (0.5, 1.0, 2.0))
    if choice is None:
        raise ValueError(
            f"n = {n} functions of the points cannot be told apart: ask for fewer modes, or give more points"
        )
    return choice[0]


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
        raise ValueError(
            f"n = {n} functions cannot be told apart on these points, only {basis.shape[1]} can: ask for fewer modes"
        )
    block = max(1, BLOCK // len(roots))
    applied = np.empty_like(basis)
    for first in progress_track(range(0, len(roots), block), "pairs", show=progress):
        part = slice(first, first + block)
        applied[part] = roots[part, None] * (_gram_of(operator, points.x[part], points.x) @ (roots[:, None] * basis))
    check_finite(applied)
    matrix = basis.T @ applied
    found, rotation = np.linalg.eigh((matrix + matrix.T) / 2)
    more = min(len(found), 2 * n + GUARDS)
    found, rotation = found[::-1][:more], rotation[:, ::-1][:, :more]
    residuals = np.linalg.norm(applied @ rotation - basis @ rotation * found, axis=0)
    return Ritz(found, residuals, combinations @ rotation)


def _repeated(
    operator: Operator,
    source: Source,
    rows: Float[np.ndarray, "rows d"] | None,
    waves: RandomWaves,
    n: int,
    seed: int,
    progress: bool,
) -> tuple[Ritz, Float[np.ndarray, " m"]]:
    """What is found on some points and measured on others, several times, and the scatter of the values."""
    repeats, scatter, found = [], np.zeros(n), None
    for size in SIZES if rows is None else (SUBSET,):
        if found is None or size <= FOUND_ON:
            first = some_points(source, rows, seed, 0, min(size, FOUND_ON))
            found = _within(operator, first, waves.with_constant(first.x), n, progress)
        others = [some_points(source, rows, seed, repeat, size) for repeat in range(1, REPEATS + 1)]
        repeats = [
            _within(operator, points, waves.combined(points.x, found.coefficients), n, progress) for points in others
        ]
        each = np.stack([repeat.values for repeat in repeats])
        # Values that are almost alike change places, which hides how far each of them moves.
        scatter = maximum_filter1d(each.std(0, ddof=1), 3) / np.sqrt(REPEATS)
        if (scatter[:n] <= ENOUGH * np.abs(each.mean(0)[:n])).all():
            break
    assert found is not None, "there is at least one size"
    values = np.mean([repeat.values for repeat in repeats], axis=0)
    residuals = np.sqrt(np.mean([repeat.residuals**2 for repeat in repeats], axis=0))
    return Ritz(values, residuals, found.coefficients @ _together(repeats)), scatter


def _together(repeats: list[Ritz]) -> Float[np.ndarray, "m m"]:
    """Coefficients that are best under the mean of Σ and Π over repeats, each of which has Cᵀ Σ C = 1, Cᵀ Π C = Λ."""
    inverses = [np.linalg.inv(repeat.coefficients) for repeat in repeats]
    sigma = np.mean([inverse.T @ inverse for inverse in inverses], axis=0)
    pi = np.mean(
        [inverse.T @ (r.values[:, None] * inverse) for inverse, r in zip(inverses, repeats, strict=True)], axis=0
    )
    return combine(sigma, pi, sign=-1).coefficients

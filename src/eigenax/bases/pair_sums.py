"""The Rayleigh–Ritz problem of a kernel as sums over all pairs of points."""

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.ndimage import maximum_filter1d

from eigenax.bases.quadrature import Quadrature
from eigenax.core.compiled import compiled
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.ritz import combine
from eigenax.core.whitening import CUTOFFS, whiten
from eigenax.errors import SingularMomentsError
from eigenax.operators.base import Operator
from eigenax.operators.kernel import check_finite
from eigenax.progress import progress_track

FALL = 1 / 8, 3 / 4
"""Doubling the points of a lattice is taken to multiply its error by a factor between these."""
BLOCK = 2**22
"""Pairs that are held in memory at once."""
GUARDS = 16
"""Functions kept beyond twice those asked for."""


class Ritz(NamedTuple):
    """The largest Ritz values in the span of f functions on a set of points, their residuals and coefficients."""

    values: Float[np.ndarray, " m"]
    residuals: Float[np.ndarray, " m"]
    coefficients: Float[np.ndarray, "f m"]


def mean_and_error(repeats: list[Ritz]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The mean of the values over repeats and its standard error.

    Values are sorted in each repeat, which hides the scatter of nearly equal ones: each takes the largest error among
    its neighbours.
    """
    each = np.stack([repeat.values for repeat in repeats])
    return each.mean(0), maximum_filter1d(each.std(0, ddof=1), 3) / np.sqrt(len(repeats))


def common_error(values: list[Float[np.ndarray, " m"]]) -> Float[np.ndarray, " m"]:
    """The error that all lattices of one size have in common, extrapolated from the values at 1/2 and 1/4 of the size.

    The scatter between shifted lattices does not show it: a kernel with a kink at x = x', such as exp(−|x − x'|), gives
    the same error at every shift.
    """
    changes = [maximum_filter1d(np.abs(more - less), 3) for more, less in itertools.pairwise(values)]
    if not changes:
        return np.zeros_like(values[0])
    # Values at the full size come first: `last` is the change from half the points to all of them.
    last, before = changes[0], changes[-1] if len(changes) > 1 else np.zeros_like(changes[0])
    fall = np.clip(last / np.maximum(before, np.finfo(float).tiny), *FALL)
    return last * fall / (1 - fall)


@compiled
def _gram(operator: Operator, x: Float[Array, "b d"], y: Float[Array, "c d"]) -> Float[Array, "b c"]:
    """The kernel, or the sum of several, at all pairs of points."""
    return operator.between(x, y)


def gram_of(operator: Operator, x: Float[np.ndarray, "b d"], y: Float[np.ndarray, "c d"]) -> Float[np.ndarray, "b c"]:
    """The same in float64."""
    with precision_scope("float64"), full_precision():
        return np.asarray(_gram(operator, jnp.asarray(x), jnp.asarray(y)), np.float64)


def orthonormal(values: Float[np.ndarray, "p f"]) -> tuple[Float[np.ndarray, "p r"], Float[np.ndarray, "f r"]]:
    """An orthonormal basis of the columns' span, and the coefficients that make it from the columns.

    It is orthonormalised twice: the second time corrects the rounding errors of small combinations.
    """
    combinations = np.eye(values.shape[1])
    for _ in range(2):
        matrix, _ = whiten(values.T @ values, *CUTOFFS["summed"])
        values, combinations = values @ matrix, combinations @ matrix
    return values, combinations


def ritz_in_span(
    operator: Operator, points: Quadrature, functions: Float[np.ndarray, "p f"], n: int, progress: bool = False
) -> Ritz:
    """The n largest Ritz values, and some more, in the span of functions, which are given by values at points."""
    roots = np.sqrt(points.weights)
    basis, combinations = orthonormal(roots[:, None] * functions)
    if basis.shape[1] < n:
        raise too_few_independent(n, basis.shape[1])
    block = max(1, BLOCK // len(roots))
    applied = np.empty_like(basis)
    for first in progress_track(range(0, len(roots), block), "pairs", show=progress):
        part = slice(first, first + block)
        gram = gram_of(operator, points.x[part], points.x)
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


def too_few_independent(n: int, rank: int) -> SingularMomentsError:
    """The error to raise where only `rank` of n functions are linearly independent."""
    return SingularMomentsError(
        f"n = {n} functions cannot be told apart on these points, only {rank} can: ask for fewer modes, or give more "
        "points"
    )


def mean_coefficients(repeats: list[Ritz]) -> Float[np.ndarray, "m m"]:
    """Coefficients that solve the Rayleigh–Ritz problem for the means of Σ and Π over repeats.

    In each repeat, with coefficients C and values Λ, Cᵀ Σ C = 1 and Cᵀ Π C = Λ give its Σ and Π.
    """
    inverses = [np.linalg.inv(repeat.coefficients) for repeat in repeats]
    sigma = np.mean([inverse.T @ inverse for inverse in inverses], axis=0)
    pi = np.mean(
        [inverse.T @ (r.values[:, None] * inverse) for inverse, r in zip(inverses, repeats, strict=True)], axis=0
    )
    return combine(sigma, pi, sign=-1).coefficients

"""How far eigenvalues would still fall with more functions, from how they fell with those there are."""

import numpy as np
from jaxtyping import Float, Inexact
from scipy.ndimage import maximum_filter1d

from eigenax.core.ritz import Combination, distance_to_exact, lowest
from eigenax.errors import SingularMomentsError

MARKED = 0.01
"""A mode is marked as not converged if residual²/gap exceeds this share of its eigenvalue."""


def basis_error(
    sigma: Inexact[np.ndarray, "f f"],
    pi: Inexact[np.ndarray, "f f"],
    found: Combination,
    cut: float,
    residuals: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """How far values would still fall with more functions.

    This extrapolates how they fell from a quarter to half to all of the functions. Where rounding limits what functions
    can add, that alone would be overconfident, so that residual²/gap, or the last fall if that is smaller, is a lower
    bound. Where functions are too few to extrapolate from, residual²/gap is the estimate.
    """
    n, values = len(found.values), found.values
    distance = distance_to_exact(values, residuals, found.next_value)
    if len(sigma) < 4 * n:
        return distance
    try:
        quarter, half = (lowest(sigma[::part, ::part], pi[::part, ::part], n, [cut])[0].values for part in (4, 2))
    except SingularMomentsError:  # too few functions of a part are independent
        return distance
    last = np.abs(half - values)
    fall = np.maximum(_next_fall(np.abs(quarter - half), last), np.fmin(distance, last))
    # A mode marked as not converged for its residual gets an error no smaller than residual²/gap.
    return np.where(distance > MARKED * np.abs(values), np.fmax(fall, distance), fall)


def _next_fall(before: Float[np.ndarray, " n"], last: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """How far values still fall, from their last two falls, each after the number of functions was doubled.

    The larger of two models: a geometric series of falls, summed to infinity; and a next doubling that gains half as
    many digits as the last one. It is at most the last fall. Since a fall may be small by
    chance, each value takes the largest among its own and its neighbours'.

    >>> _next_fall(np.array([1.0, 1.0]), np.array([1e-4, 0.4])).round(7)
    array([0.2666667, 0.2666667])
    >>> _next_fall(np.array([1.0]), np.array([1e-4]))
    array([1.e-06])
    """
    ratio = last / np.maximum(before, np.finfo(float).tiny)
    share = np.maximum(np.sqrt(ratio), ratio / (1 - np.minimum(ratio, 0.5)))
    return maximum_filter1d(last * np.minimum(share, 1), 3)

"""The whitening of all Rayleigh–Ritz problems, with the one table of its cutoffs."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

from eigenax.core.blas_threads import few_threads
from eigenax.errors import SingularMomentsError

CUTOFFS = {
    # Moments of samples: sampling noise sets the limit, and other samples tell which of these cutoffs is the best.
    "sampled": (1e-6, 1e-8, 1e-10, 1e-12, 1e-13),
    # Sums over all the data, whose only error is rounding: a few hundred times the rounding of float64.
    "summed": (1e-13,),
    # Such sums, to be multiplied by the number of functions; a ridge chosen on held-out data keeps directions of small
    # variance from being used.
    "ridged": (1e-14,),
}
"""Combinations of functions whose variance is below this share of the largest one are left out, as noise."""


class Whitening(NamedTuple):
    """Uncorrelated combinations u @ matrix of variance one, sorted by the variance they had before they were scaled."""

    matrix: Inexact[np.ndarray, "f r"]
    variances: Float[np.ndarray, " r"]
    """The variances before scaling, of combinations of functions that were themselves scaled to variance one."""


def whiten(
    sigma: Inexact[np.ndarray, "f f"], cutoff: float, *, rank: int | None = None, floor: float = 0.0
) -> Whitening:
    """W with W* Σ W = 1, without the directions that rounding or sampling noise decides.

    Functions whose variance is at most `floor` are left out, and the others are scaled to variance one. Of their
    directions, those whose variance is at most `cutoff` times the largest one are left out, and those after the first
    `rank`, which is how many independent functions there can be.

    >>> sigma = np.array([[4.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    >>> matrix, _ = whiten(sigma, 1e-13)
    >>> (matrix.T @ sigma @ matrix).round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_finite(sigma)
    sizes = np.real(np.diag(sigma))
    alive = sizes > floor
    scale = np.where(alive, 1 / np.sqrt(np.where(alive, sizes, 1)), 0)
    with few_threads(len(sigma)):
        variances, axes = np.linalg.eigh(sigma * scale[:, None] * scale)
    variances, axes = variances[::-1], axes[:, ::-1]
    count = min(int((variances > cutoff * variances[0]).sum()), len(variances) if rank is None else rank)
    return Whitening(scale[:, None] * axes[:, :count] / np.sqrt(variances[:count]), variances[:count])


def check_finite(moments: Inexact[np.ndarray, "f f"]) -> None:
    """Refuse moments that contain NaN or infinity."""
    if not np.isfinite(moments).all():
        raise SingularMomentsError(
            "the moments of the functions are not finite: the operator or the network returned NaN or infinity"
        )

"""Linear slow feature analysis: the slowest combinations of columns, or of functions of them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from eigenax.core.compiled import compiled
from eigenax.core.rayleigh import HIGHEST
from eigenax.lab.baselines.by_pieces import PIECE, Function
from eigenax.networks.features import Projection

VARIANCE = 1e-5
"""Directions with less than this share of the largest variance are left out: their slowness is rounding error."""


class Moments(NamedTuple):
    """The mean and covariance Σ of rows x, and Π = E[Δx Δxᵀ] of the steps from each row to the next."""

    mean: Float[np.ndarray, " m"]
    sigma: Float[np.ndarray, "m m"]
    pi: Float[np.ndarray, "m m"]

    def slowest(self, n: int, keep: int | None = None) -> Projection:
        """The n slowest combinations of the first `keep` columns, of variance one, the slowest first; fewer if fewer
        have enough variance."""
        variances, axes = np.linalg.eigh(self.sigma[:keep, :keep])
        kept = variances > VARIANCE * variances[-1]
        whitening = axes[:, kept] / np.sqrt(variances[kept])
        slow = np.linalg.eigh(whitening.T @ self.pi[:keep, :keep] @ whitening)[1][:, :n]
        return Projection(self.mean, np.eye(len(self.mean))[:, :keep] @ (whitening @ slow))

    def one_by_one(self, n: int) -> Projection:
        """The first n columns themselves, of variance one, the slowest first."""
        variances, changes = np.diag(self.sigma)[:n], np.diag(self.pi)[:n]
        kept = np.flatnonzero(variances > VARIANCE * variances.max())
        order = kept[np.argsort(changes[kept] / variances[kept])]
        return Projection(self.mean, np.eye(len(self.mean))[:, order] / np.sqrt(variances[order]))


def slow_directions(rows: Float[Array | np.ndarray, "time m"], n: int) -> Projection:
    """Linear slow feature analysis of one series: the n slowest combinations, of variance one, the slowest first.

    >>> t = np.arange(2000)
    >>> mixed = np.stack([np.sin(t / 50) + np.sin(t / 3), np.sin(t / 3)], 1)
    >>> bool(abs(np.corrcoef(slow_directions(mixed, 1)(mixed)[:, 0], np.sin(t / 50))[0, 1]) > 0.999)
    True
    """
    return moments_of(rows, np.arange(len(rows)) == 0).slowest(n)


def moments_of(
    rows: Float[Array | np.ndarray, "time m"], begins: Bool[np.ndarray, " time"], expand: Function | None = None
) -> Moments:
    """Moments over all steps from a row to the next one of the same episode.

    The mean and the covariance are those of each step's first row. `begins` says which rows begin an episode. `expand`
    may map each row to more columns, of which only a piece is in memory at a time."""
    totals, steps = [np.zeros(())] * 3, ~begins[1:]
    size = min(PIECE, 1 << (len(steps) - 1).bit_length())  # a power of two: each size is compiled for
    for start in range(0, len(steps), PIECE):
        numbers = np.arange(start, start + size + 1)
        counted = np.append(steps, np.zeros(PIECE, bool))[numbers[:-1]]
        piece = jnp.asarray(rows[numbers.clip(0, len(rows) - 1)], jnp.float32)
        sums = _sums(piece, jnp.asarray(counted), expand)
        totals = [total + np.asarray(part, np.float64) for total, part in zip(totals, sums, strict=True)]
    mean, sigma, pi = (total / steps.sum() for total in totals)
    return Moments(mean, sigma - np.outer(mean, mean), pi)


@compiled
def _sums(
    rows: Float[Array, "time m"], counted: Bool[Array, " steps"], expand: Function | None
) -> tuple[Array, Array, Array]:
    """Σ x, Σ x xᵀ and Σ Δx Δxᵀ over steps from a row to the next."""
    x = rows if expand is None else jax.vmap(expand)(rows)
    x, change = (jnp.where(counted[:, None], part, 0) for part in (x[:-1], jnp.diff(x, axis=0)))
    return x.sum(0), jnp.matmul(x.T, x, precision=HIGHEST), jnp.matmul(change.T, change, precision=HIGHEST)

"""The first principal components of many frames of many pixels."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from eigenax.lab.baselines.by_pieces import of_rows
from eigenax.networks.features import Projection

LOOKED_AT = 10_000
"""Number of frames, spread evenly over a video, from which principal components are computed."""
ROUNDS = 8
"""Iterations of the subspace iteration."""
GUARDS = 24
"""Vectors that the subspace iteration has beyond the principal components asked for, which speed it up."""


def components_of(
    frames: Num[np.ndarray, "b ..."], seen: Num[np.ndarray, "time ..."], n: int
) -> Float[np.ndarray, "b n"]:
    """The first n principal components of frames, found on some of the frames that were seen."""
    some = seen[evenly_spread(len(seen))]
    return of_rows(principal_components(some.reshape(len(some), -1), n), frames.reshape(len(frames), -1))


def principal_components(rows: Num[Array | np.ndarray, "time m"], keep: int) -> Projection:
    """The first principal components, by subspace iteration, which is fast where they are few of many.

    >>> rows = np.random.default_rng(0).normal(size=(1000, 3)) * [1.0, 5.0, 1.0]
    >>> np.abs(principal_components(rows, 1).matrix[1]).round(2)
    array([1.], dtype=float32)
    """
    keep = min(keep, *rows.shape)
    return Projection(*(np.asarray(part) for part in _components(jnp.asarray(rows, jnp.float32), keep)))


@jax.jit(static_argnums=1)
def _components(rows: Float[Array, "time m"], keep: int) -> tuple[Array, Array]:
    mean = rows.mean(0)
    centred = rows - mean
    start = jax.random.normal(jax.random.key(0), (rows.shape[1], min(keep + GUARDS, rows.shape[1])))

    def once(basis: Array, _: None) -> tuple[Array, None]:
        return jnp.linalg.qr(centred.T @ (centred @ basis))[0], None

    basis, _ = jax.lax.scan(once, start, length=ROUNDS)
    rotation = jnp.linalg.svd(centred @ basis, full_matrices=False)[2]
    return mean, (basis @ rotation.T)[:, :keep]


def evenly_spread(count: int) -> Int[np.ndarray, " few"]:
    """The numbers of `LOOKED_AT` frames, spread evenly over this many, or of all if these are fewer."""
    return np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(int)

"""Points that fill the unit cube evenly: a lattice with a random shift."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray


def shifted_lattice(key: PRNGKeyArray, size: int, numbers: int, start: int | Int[Array, ""] = 0) -> Float[Array, "b m"]:
    """Points `start` to `start + size` of a lattice in m = `numbers` dimensions, strictly between 0 and 1.

    The lattice is a Kronecker sequence, whose steps are 1/g, …, 1/g^m for the smallest g > 1 with g^(m+1) = g + 1 (for
    m = 1 the golden ratio), shifted by a random vector. A mean over it is unbiased, and for smooth functions of few
    variables far closer to the integral than a mean over independent points. Means with different keys are independent,
    so that their scatter is their standard error.

    >>> shifted_lattice(jax.random.key(0), 5, 2).shape
    (5, 2)
    """
    # Fractions as whole numbers modulo 2**32: exact for any size, in either precision.
    steps = jnp.asarray((_kronecker_steps(numbers) * 2**32).astype(np.uint32))
    shift = jax.random.bits(key, (numbers,), jnp.uint32)
    index = jnp.asarray(start).astype(jnp.uint32) + jnp.arange(size, dtype=jnp.uint32)
    turns = shift + index[:, None] * steps
    bits = 23 if jnp.zeros(()).dtype == jnp.float32 else 32
    return ((turns >> (32 - bits)).astype(float) + 0.5) * 2.0**-bits


def independent(key: PRNGKeyArray, size: int, numbers: int, start: int | Int[Array, ""] = 0) -> Float[Array, "b m"]:
    """Independent uniform points, with the arguments of `shifted_lattice`: another `start` gives other points."""
    key = jax.random.fold_in(key, start)
    return jax.random.uniform(key, (size, numbers), minval=jnp.finfo(jnp.zeros(()).dtype).tiny)


def drawn_in_proportion(key: PRNGKeyArray, weights: Float[Array, " b"], size: int) -> Int[Array, " n"]:
    """Indices drawn in proportion to the weights by systematic resampling.

    Evenly spaced positions in the cumulative sum of the weights, from a random start, pick the indices.

    >>> drawn_in_proportion(jax.random.key(0), jnp.array([0.0, 1.0, 3.0]), 4)
    Array([1, 2, 2, 2], dtype=int32)
    """
    return resampled(jax.random.uniform(key, dtype=weights.dtype), weights, size)


def resampled(offset: Float[Array, ""], weights: Float[Array, " b"], size: int) -> Int[Array, " n"]:
    """The same, from a random number between 0 and 1 that was drawn before.

    >>> resampled(jnp.asarray(0.5), jnp.array([0.0, 1.0, 3.0]), 4)
    Array([1, 2, 2, 2], dtype=int32)
    """
    sums = jnp.cumsum(weights)
    places = (jnp.arange(size) + offset) / size
    return jnp.searchsorted(sums / sums[-1], places).clip(0, len(sums) - 1)


def _kronecker_steps(numbers: int) -> Float[np.ndarray, " m"]:
    """1/g, …, 1/g^m, with g found by fixed-point iteration."""
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (numbers + 1))
    return root ** -np.arange(1.0, numbers + 1)

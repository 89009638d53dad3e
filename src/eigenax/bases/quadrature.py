"""Quadrature: points and weights for means over a distribution, or over rows of data."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import ndtr

from eigenax.core.batch import Points
from eigenax.core.compiled import for_one_run
from eigenax.core.precision import precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.sources.base import Component, Source

CANDIDATES = 128
"""Lattices that are tried."""
NEGLIGIBLE = 1e-40
"""Weights below this share of the largest are set to zero."""


class Quadrature(NamedTuple):
    """Points and weights that add up to one: means over a distribution, or over data."""

    x: Float[np.ndarray, "p d"]
    weights: Float[np.ndarray, " p"]
    own: float = 1.0
    """An extra factor, in means over pairs, of the pairs of a point with itself."""
    others: float = 1.0
    """The same of the pairs of two different points."""


def some_points(source: Source, seed: int, repeat: int, size: int) -> Quadrature:
    """Points to find or to measure functions on; each `repeat` gives others."""
    rows, density = source.rows, source.density
    key = jax.random.fold_in(stream(seed, Stream.QUADRATURE), repeat)
    if rows is not None:
        order = np.random.default_rng(seed).permutation(len(rows))
        kept, every = np.roll(order, -repeat * size)[: min(size, len(rows))], len(rows)
        own = len(kept) / every  # a subset has too large a share of pairs of a row with itself
        others = own * (every - 1) / max(len(kept) - 1, 1)
        return Quadrature(rows[kept], np.full(len(kept), 1 / len(kept)), own, others)
    if density is not None:
        return _lattice_denser_in_tails(density, size, np.random.default_rng([seed, Stream.QUADRATURE, repeat]))
    with precision_scope("float64"):
        batch = source.sample_qmc(key, size)
    assert isinstance(batch, Points), "kernels act on points"
    x, weights = (np.asarray(part, np.float64) for part in batch)
    return Quadrature(x, weights / weights.sum())


def _lattice_denser_in_tails(density: Component, size: int, rng: np.random.Generator) -> Quadrature:
    """A randomly shifted lattice, mapped so that points are denser in the tails, with weights that make up for the map.

    Later eigenfunctions are large in the tails, where the density itself has few points. The weights vanish with all
    derivatives at the edges of the unit cube, which makes integrands periodic: a lattice then converges much faster.
    """
    numbers = density.n_uniforms
    width = 1.0 if numbers <= 5 else 0.7  # in many dimensions the weights would vary too much
    turns = np.arange(size)[:, None] * _generator(size, numbers) % size / size + rng.random(numbers)
    t = np.clip(turns % 1, 1e-12, 1 - 1e-12)
    y = width * (np.log(t) - np.log1p(-t))
    weights = np.prod(np.exp(-(y**2) / 2) * width / (t * (1 - t)), axis=1)
    weights = np.where(weights > NEGLIGIBLE * weights.max(), weights, 0)  # denormal numbers are slow
    uniform = np.clip(ndtr(y), 2.0**-53, 1 - 2.0**-53)
    with precision_scope("float64"):
        x = np.asarray(_placed(density, jnp.asarray(uniform)), np.float64)
    return Quadrature(x, weights / weights.sum())


@for_one_run
def _placed(density: Component, uniform: Float[Array, "p m"]) -> Float[Array, "p d"]:
    return density.icdf(uniform)


def _generator(size: int, dims: int) -> Int[np.ndarray, " m"]:
    """The generator 1, a, a² … of a Korobov lattice, with the smallest error P₂ of the candidates a that are tried."""
    if dims == 1:
        return np.ones(1, np.int64)

    def powers(step: int) -> Int[np.ndarray, " m"]:
        return np.array([pow(step, power, size) for power in range(dims)])

    def error(step: int) -> float:
        t = np.arange(size)[:, None] * powers(step) % size / size
        return float(np.prod(1 + 2 * np.pi**2 * (t**2 - t + 1 / 6), axis=1).mean())

    tried = (
        2 * np.random.default_rng(0).integers(1, size // 2, CANDIDATES) + 1
    )  # odd, hence coprime to sizes that are powers of two
    return powers(min(tried.tolist(), key=error))

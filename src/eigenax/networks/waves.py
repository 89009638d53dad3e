"""Random waves under random envelopes: a hidden layer that is a good basis without any training."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from eigenax.domains.box import Box
from eigenax.networks.base import Network
from eigenax.networks.boundary import OffsetFrom

CUSP_SCALE_RATIO = 3.0
"""The ratio of successive length scales of the inputs around a singularity."""


class Cusps(eqx.Module):
    """Inputs with a kink at given points, so that smooth functions of them can have a cusp there.

    For each point, with offset y and distance r from `OffsetFrom`, and each scale s: y/√(s² + r²) and (r − s)/(r + s).

    >>> Cusps(((0.0, 0.0),), (1.0, 3.0))(jnp.array([3.0, 4.0])).shape
    (6,)
    """

    points: tuple[tuple[float, ...], ...] = eqx.field(static=True)
    scales: tuple[float, ...] = eqx.field(static=True)
    box: Box | None = None

    @property
    def size(self) -> int:
        """The number of inputs."""
        return len(self.points) * len(self.scales) * (len(self.points[0]) + 1)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " z"]:
        """The inputs at one point."""
        columns = []
        for point in self.points:
            y, r = OffsetFrom(point, self.box)(x)
            for scale in self.scales:
                columns += [y / jnp.sqrt(scale**2 + r**2), jnp.stack([(r - scale) / (r + scale)])]
        return jnp.concatenate(columns)


class GaussianEnvelopes(eqx.Module):
    """exp(−½ Σ_i rates_i (z_i − centre_i)²) with z = inputs(x); each of f functions has its own rates and centre."""

    inputs: Callable[[Array], Array]
    centres: Float[np.ndarray, "f z"]
    rates: Float[np.ndarray, "f z"]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " f"]:
        """All envelopes at one point."""
        z = self.inputs(x)
        # The square is multiplied out: matrix products need less memory than f × z numbers at every point.
        squares = jnp.asarray(self.rates, x.dtype) @ z**2
        mixed = jnp.asarray(self.rates * self.centres, x.dtype) @ z
        constants = jnp.asarray((self.rates * self.centres**2).sum(1), x.dtype)
        return jnp.exp(-(squares - 2 * mixed + constants) / 2)


class ExponentialEnvelopes(eqx.Module):
    """exp(−rate · r) for f functions, each with its own rate, with r the `OffsetFrom` distance from one of the points.

    `nearest` holds the index of that point for each function.
    """

    points: tuple[tuple[float, ...], ...] = eqx.field(static=True)
    nearest: Int[np.ndarray, " f"]
    rates: Float[np.ndarray, " f"]
    box: Box | None = None

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " f"]:
        """All envelopes at one point."""
        r = jnp.stack([OffsetFrom(point, self.box)(x)[1] for point in self.points])
        return jnp.exp(-jnp.asarray(self.rates, x.dtype) * r[self.nearest])


class Waves(Network):
    """factor(x) · envelope_j(x) · sin(frequency_j · inputs(x) + phase_j): f functions with nothing to train.

    A Rayleigh–Ritz step finds the best linear combinations of them.
    """

    inputs: Callable[[Array], Array]
    factor: Callable[[Array], Array] | None
    envelopes: Callable[[Array], Array] | None
    frequencies: Float[np.ndarray, "f z"]
    phases: Float[np.ndarray, " f"]

    @property
    def separate(self) -> bool:
        """Yes: nothing is trained, so nothing is shared."""
        return True

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " f"]:
        """All waves at one point."""
        angles = jnp.asarray(self.frequencies, x.dtype) @ self.inputs(x) + jnp.asarray(self.phases, x.dtype)
        u = jnp.sin(angles)
        for part in (self.factor, self.envelopes):
            u = u if part is None else part(x) * u
        return u


def random_frequencies(
    rng: np.random.Generator,
    size: int,
    dims: int,
    least: float,
    most: float,
    favoured: float | Float[np.ndarray, "f z"] = 1.0,
) -> tuple[Float[np.ndarray, "f z"], Float[np.ndarray, " f"]]:
    """Frequency vectors with log-uniform lengths from `least` to `most`, and uniform phases.

    The directions are isotropic, or favour the axes on which `favoured` is large.
    """
    directions = favoured * rng.normal(size=(size, dims))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = np.exp(rng.uniform(np.log(least), np.log(most), (size, 1)))
    return lengths * directions, rng.uniform(0, 2 * np.pi, size)


def cusp_scales(inner: float, outer: float) -> tuple[float, ...]:
    """A geometric series of length scales from `inner` to `outer` or beyond.

    >>> cusp_scales(1.0, 20.0)
    (1.0, 3.0, 9.0, 27.0)
    """
    count = max(2, 1 + int(np.ceil(np.log(outer / inner) / np.log(CUSP_SCALE_RATIO))))
    return tuple((inner * CUSP_SCALE_RATIO ** np.arange(count)).tolist())

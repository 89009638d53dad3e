"""Uniform points in a box."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.core.batch import Points
from eigenax.sources.base import Source, as_vector


class Box(Source):
    """The box [low, high], with points drawn uniformly from it.

    Bounds are numbers, with `dims` axes alike, or one number per axis. Functions learned on a box are
    orthonormal under the uniform probability on it: divide them by √volume for ∫ v² dx = 1.

    >>> Box(-50.0, 50.0, dims=2).shape
    (2,)
    >>> Box([0, 0, 0], [1, 2, 3]).volume
    6.0
    """

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, low: float | Sequence[float], high: float | Sequence[float], dims: int | None = None):
        if dims is not None and dims < 1:
            raise ValueError(f"dims must be at least 1; got {dims}")
        sizes = {np.size(bound) for bound in (low, high) if np.ndim(bound)}
        if dims is None and len(sizes) == 1:
            dims = sizes.pop()
        self.low, self.high = as_vector(low, dims, "low"), as_vector(high, dims, "high")
        if not self.low:
            raise ValueError("a box needs at least one axis; got empty bounds")
        if len(self.low) != len(self.high):
            raise ValueError(f"low has {len(self.low)} axes and high has {len(self.high)}; give both alike")
        for axis, (a, b) in enumerate(zip(self.low, self.high, strict=True)):
            if not (np.isfinite(a) and np.isfinite(b) and a < b):
                raise ValueError(f"a box needs finite low < high on every axis; axis {axis} has low {a}, high {b}")

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,)."""
        return (len(self.low),)

    @property
    def centre(self) -> Float[np.ndarray, " d"]:
        """The middle of the box."""
        return (np.asarray(self.high) + np.asarray(self.low)) / 2

    @property
    def half_width(self) -> Float[np.ndarray, " d"]:
        """Half the length of each side."""
        return (np.asarray(self.high) - np.asarray(self.low)) / 2

    @property
    def volume(self) -> float:
        """The product of the sides."""
        return float(np.prod(2 * self.half_width))

    def density(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """1 / volume inside, zero outside."""
        return self.contains(x) / self.volume

    def contains(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """One inside, zero outside."""
        inside = (x >= jnp.asarray(self.low, x.dtype)) & (x <= jnp.asarray(self.high, x.dtype))
        return inside.all(-1).astype(x.dtype)

    def draw(self, key: PRNGKeyArray, size: int) -> Float[Array, "b d"]:
        """Points without weights."""
        low, high = jnp.asarray(self.low, float), jnp.asarray(self.high, float)
        return jax.random.uniform(key, (size, *self.shape), minval=low, maxval=high)

    def sample(self, key: PRNGKeyArray, size: int) -> Points:
        """Uniform points of weight one."""
        x = self.draw(key, size)
        return Points(x, jnp.ones(size, x.dtype))

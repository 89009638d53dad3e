"""Features of a point, which networks take as their inputs."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from eigenax.core.rayleigh import HIGHEST


class ScaledInputs(eqx.Module):
    """(x − centre) / scale, axis by axis."""

    centre: tuple[float, ...] = eqx.field(static=True)
    scale: tuple[float, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        """The number of features, as many as axes."""
        return len(self.centre)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """The features of one point."""
        return (x - jnp.asarray(self.centre, x.dtype)) / jnp.asarray(self.scale, x.dtype)


class ScaledPixels(eqx.Module):
    """(x − centre) / scale with the same numbers for every pixel.

    >>> ScaledPixels(128.0, 64.0)(jnp.full((1, 1, 1), 255.0)).item()
    1.984375
    """

    centre: float = eqx.field(static=True)
    scale: float = eqx.field(static=True)

    @classmethod
    def of(cls, pixels: Num[np.ndarray, "..."]) -> "ScaledPixels":
        """To mean zero and standard deviation one of these."""
        return cls(float(pixels.mean(dtype=np.float64)), float(pixels.std(dtype=np.float64)) or 1.0)

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, "c h w"]:
        """The pixels of one image."""
        return (x - self.centre) / self.scale


class CoarsePixels(eqx.Module):
    """The mean of every square of `side` × `side` pixels. Incomplete squares at the far edges are left out.

    >>> CoarsePixels(2)(jnp.arange(15.0).reshape(1, 3, 5))
    Array([[[3., 5.]]], dtype=float32)
    """

    side: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, "c h w"]) -> Float[Array, "c rows columns"]:
        """The larger pixels of one image."""
        height, width = (size // self.side for size in x.shape[1:])
        squares = x[:, : height * self.side, : width * self.side].reshape(-1, height, self.side, width, self.side)
        return squares.mean((2, 4))


class Whitened(eqx.Module):
    """(coordinates(x) − mean) @ matrix: coordinates in which states have unit size in every direction.

    Mean and matrix are tuples of numbers in a network that is trained, since training changes all arrays of a network.
    As arrays they may change without another compilation.

    >>> Whitened(jnp.sin, (0.0,), ((2.0,),))(jnp.zeros(1))
    Array([0.], dtype=float32)
    """

    coordinates: Callable[[Array], Array]
    mean: tuple[float, ...] | Float[np.ndarray, " m"]
    matrix: tuple[tuple[float, ...], ...] | Float[np.ndarray, "m z"]

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.matrix[0])

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " z"]:
        """The features of one point."""
        y = self.coordinates(x) - jnp.asarray(self.mean, x.dtype)
        return y @ jnp.asarray(self.matrix, x.dtype)


class ExponentialFactor(eqx.Module):
    """exp(1 − √(1 + Σ_i rates_i z_i²)) with z = inputs(x): an envelope for functions that are large in one place.

    Near that place it resembles a Gaussian. Further away it only decays exponentially, so a network can make up for
    the larger extent of higher states.

    >>> ExponentialFactor(jnp.sin, (1.0,))(jnp.zeros(1))
    Array(1., dtype=float32)
    """

    inputs: Callable[[Array], Array]
    rates: tuple[float, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The factor at one point."""
        return jnp.exp(1 - jnp.sqrt(1 + jnp.sum(jnp.asarray(self.rates, x.dtype) * self.inputs(x) ** 2)))


class CuspInputs(eqx.Module):
    """Features with a kink at `centre`, so that a smooth network of them can have a cusp there.

    With y = x − centre and r = |y|: y/√(s² + r²) for each scale s, y/length, r/length and log(1 + r).

    >>> CuspInputs((0.0, 0.0))(jnp.array([3.0, 4.0])).shape
    (8,)
    """

    centre: tuple[float, ...] = eqx.field(static=True)
    scales: tuple[float, ...] = eqx.field(static=True, default=(1.0, 5.0))
    length: float = eqx.field(static=True, default=10.0)

    @property
    def size(self) -> int:
        """The number of features."""
        return len(self.centre) * (len(self.scales) + 1) + 2

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " m"]:
        """The features of one point."""
        y = x - jnp.asarray(self.centre, x.dtype)
        squared = jnp.sum(y**2)
        r = jnp.sqrt(squared)
        directions = [y / jnp.sqrt(scale**2 + squared) for scale in self.scales]
        return jnp.concatenate([*directions, y / self.length, jnp.stack([r / self.length, jnp.log1p(r)])])


class Projection(eqx.Module):
    """(x − mean) · matrix, contracted over all axes of a point."""

    mean: Float[np.ndarray, "*point"]
    matrix: Float[np.ndarray, "*point n"]

    def __call__(self, x: Num[Array | np.ndarray, "..."]) -> Float[Array, "... n"]:
        """Features of points (…, *point)."""
        mean, matrix = (jnp.asarray(part, jnp.float32) for part in (self.mean, self.matrix))
        return jnp.tensordot(x - mean, matrix, mean.ndim, precision=HIGHEST)

    def of(self, shape: tuple[int, ...]) -> "Projection":
        """The same projection for points of this shape instead of flat rows."""
        return Projection(self.mean.reshape(shape), self.matrix.reshape(*shape, -1))


class Products(eqx.Module):
    """The numbers of a row and all products of two of them.

    >>> Products()(jnp.array([2.0, 3.0]))
    Array([2., 3., 4., 6., 9.], dtype=float32)
    """

    def __call__(self, x: Float[Array, " m"]) -> Float[Array, " q"]:
        """The features of one row."""
        first, second = np.triu_indices(len(x))
        return jnp.concatenate([x, x[first] * x[second]])

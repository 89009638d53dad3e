"""Densities for the components of a mixture: a Gaussian, and two that concentrate around a point."""

from collections.abc import Sequence
from math import gamma, log, pi

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import ndtri
from jaxtyping import Array, Float

from eigenax.checks import as_vector


class Gaussian(eqx.Module):
    """A normal density. `spread` is a standard deviation, for all axes or one for each, or a covariance matrix.

    >>> Gaussian(0.0, 2.0, dims=3).shape
    (3,)
    """

    mean: Float[np.ndarray, " d"]
    cholesky: Float[np.ndarray, "d d"]
    """The Cholesky factor L of the covariance L Lᵀ."""

    def __init__(
        self,
        mean: float | Sequence[float],
        spread: float | Sequence[float] | Float[np.ndarray, "d d"],
        dims: int | None = None,
    ):
        self.mean = np.asarray(as_vector(mean, dims if np.ndim(spread) < 1 else len(np.asarray(spread)), "mean"))
        matrix = np.asarray(spread, float)
        if matrix.ndim < 2:
            widths = np.asarray(as_vector(matrix.tolist(), len(self.mean), "spread"))
            if not (widths > 0).all():
                raise ValueError(f"spread must be positive, or a positive definite covariance; got {spread}")
            matrix = np.diag(np.square(widths))
        try:
            self.cholesky = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"spread must be positive, or a positive definite covariance; got {spread}") from error

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return (len(self.mean),)

    @property
    def n_uniforms(self) -> int:
        """How many numbers between 0 and 1 make one point."""
        return len(self.mean)

    def icdf(self, uniform: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """Turn numbers between 0 and 1 into points."""
        normal = ndtri(uniform) @ jnp.asarray(self.cholesky, uniform.dtype).T
        return jnp.asarray(self.mean, uniform.dtype) + normal

    def density(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """The density at x."""
        cholesky = jnp.asarray(self.cholesky, x.dtype)
        away = solve_triangular(cholesky, (x - jnp.asarray(self.mean, x.dtype)).T, lower=True)
        squares = jnp.sum(away**2, 0)
        volume = len(self.mean) / 2 * log(2 * pi) + jnp.log(jnp.diag(cholesky)).sum()
        return jnp.exp(-squares / 2 - volume)


class Radial(eqx.Module):
    """A density ∝ exp(−r/s)/r around a centre, to draw points near a singularity; s is the `scale`.

    In two and more dimensions its 1/r keeps the variance of a Coulomb potential's moments finite; in one dimension the
    density is ∝ exp(−r/s).
    """

    centre: tuple[float, ...] = eqx.field(static=True)
    scale: float = eqx.field(static=True)

    def __init__(self, scale: float, centre: float | Sequence[float] = 0.0, dims: int | None = None):
        if not scale > 0:
            raise ValueError(f"scale must be positive; got {scale}")
        self.scale, self.centre = float(scale), as_vector(centre, dims, "centre")

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return (len(self.centre),)

    @property
    def _radial_power(self) -> int:
        """The shape parameter of the gamma distribution of the radius."""
        return max(len(self.centre) - 1, 1)

    @property
    def n_uniforms(self) -> int:
        """How many numbers between 0 and 1 make one point."""
        return self._radial_power + _n_direction_uniforms(len(self.centre))

    def icdf(self, uniform: Float[Array, "b m"]) -> Float[Array, "b d"]:
        """A gamma-distributed radius in a uniform direction, never exactly at the centre."""
        # The shape parameter is a whole number, so the radius is a sum of exponentially distributed numbers.
        power = self._radial_power
        radius = -self.scale * jnp.log(uniform[:, :power]).sum(1, keepdims=True)
        direction = _directions(uniform[:, power:], len(self.centre))
        return (
            jnp.asarray(self.centre, uniform.dtype)
            + jnp.maximum(radius, _min_radius(self.scale, self.centre, uniform)) * direction
        )

    def density(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """The density at x."""
        dims, power = len(self.centre), self._radial_power
        r = jnp.linalg.norm(x - jnp.asarray(self.centre, x.dtype), axis=-1)
        return r ** (power - dims) * jnp.exp(-r / self.scale) / (_sphere_area(dims) * gamma(power) * self.scale**power)


class LogUniformRadius(eqx.Module):
    """Points around a centre at a log-uniform radius r, whose density is ∝ 1/(inner + r) up to `outer`.

    Every length scale between `inner` and `outer` gets about as many points: for a singularity whose states may have
    any such size.

    >>> LogUniformRadius(0.01, 100.0, dims=2).shape
    (2,)
    """

    inner: float = eqx.field(static=True)
    outer: float = eqx.field(static=True)
    centre: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, inner: float, outer: float, centre: float | Sequence[float] = 0.0, dims: int | None = None):
        if not 0 < inner < outer:
            raise ValueError(f"LogUniformRadius needs 0 < inner < outer; got {inner} and {outer}")
        self.inner, self.outer, self.centre = float(inner), float(outer), as_vector(centre, dims, "centre")

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return (len(self.centre),)

    @property
    def _log_range(self) -> float:
        """∫ dr / (inner + r) from 0 to `outer`."""
        return log((self.outer + self.inner) / self.inner)

    @property
    def n_uniforms(self) -> int:
        """How many numbers between 0 and 1 make one point."""
        return 1 + _n_direction_uniforms(len(self.centre))

    def icdf(self, uniform: Float[Array, "b m"]) -> Float[Array, "b d"]:
        """Turn numbers between 0 and 1 into points."""
        radius = self.inner * jnp.expm1(self._log_range * uniform[:, :1])
        radius = jnp.maximum(radius, _min_radius(self.inner, self.centre, uniform))
        return jnp.asarray(self.centre, uniform.dtype) + radius * _directions(uniform[:, 1:], len(self.centre))

    def density(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """The density at x."""
        dims = len(self.centre)
        r = jnp.linalg.norm(x - jnp.asarray(self.centre, x.dtype), axis=-1)
        # Rounding may put a point just beyond the outer radius.
        along = jnp.where(r <= self.outer * (1 + 1e-5), 1 / (self._log_range * (self.inner + r)), 0)
        return along / (_sphere_area(dims) * r ** (dims - 1))


def _min_radius(scale: float, centre: tuple[float, ...], like: Float[Array, "b m"]) -> float:
    """A radius so small that it does not matter, yet large enough to survive rounding when added to the centre."""
    return max(1e-6 * scale, 16 * float(jnp.finfo(like.dtype).eps) * max(map(abs, centre)))


def _sphere_area(dims: int) -> float:
    """The area of the unit sphere in this many dimensions."""
    return 2 * pi ** (dims / 2) / gamma(dims / 2)


def _n_direction_uniforms(dims: int) -> int:
    """How many uniform numbers make one random direction."""
    return dims - 1 if dims in {2, 3} else dims


def _directions(uniform: Float[Array, "b m"], dims: int) -> Float[Array, "b d"]:
    """Unit vectors that are uniform on the sphere, from uniform numbers."""
    if dims == 1:
        return jnp.where(uniform < 0.5, -1.0, 1.0)
    angle = 2 * jnp.pi * uniform[:, :1]
    if dims == 2:
        return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], 1)
    if dims == 3:
        height = 2 * uniform[:, 1:] - 1
        ring = jnp.sqrt(1 - height**2)
        return jnp.concatenate([ring * jnp.cos(angle), ring * jnp.sin(angle), height], 1)
    normal = ndtri(uniform)
    return normal / jnp.linalg.norm(normal, axis=-1, keepdims=True)

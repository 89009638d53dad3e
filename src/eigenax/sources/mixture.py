"""Points drawn where they are needed, with weights that undo it."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.special import gamma

from eigenax.core.batch import Points
from eigenax.sources.base import Source, as_vector
from eigenax.sources.box import Box


class Radial(eqx.Module):
    """A density ∝ exp(−r/s)/r around a centre, for the neighbourhood of a point singularity.

    Its 1/r keeps the variance of a Coulomb potential's moments finite in two dimensions and more.
    """

    centre: tuple[float, ...] = eqx.field(static=True)
    scale: float = eqx.field(static=True)

    def __init__(self, scale: float, centre: float | Sequence[float] = 0.0, dims: int | None = None):
        if not scale > 0:
            raise ValueError(f"scale must be positive; got {scale}")
        self.scale, self.centre = float(scale), as_vector(centre, dims, "centre")

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,)."""
        return (len(self.centre),)

    @property
    def _least_radius(self) -> float:
        """So small that it does not matter, so large that adding it to the centre is not lost to rounding."""
        return max(1e-6 * self.scale, 16 * float(np.finfo(np.float32).eps) * max(map(abs, self.centre)))

    @property
    def _radial_power(self) -> int:
        return max(len(self.centre) - 1, 1)

    def draw(self, key: PRNGKeyArray, size: int) -> Float[Array, "b d"]:
        """A gamma-distributed radius in a uniform direction, never exactly at the centre."""
        # The shape is a whole number: a sum of exponentials is far cheaper than rejection sampling.
        for_radius, for_direction = jax.random.split(key)
        radius = self.scale * jax.random.exponential(for_radius, (size, self._radial_power)).sum(1, keepdims=True)
        direction = jax.random.normal(for_direction, (size, len(self.centre)))
        direction /= jnp.linalg.norm(direction, axis=-1, keepdims=True)
        return jnp.asarray(self.centre, float) + jnp.maximum(radius, self._least_radius) * direction

    def density(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """The density of `draw` at x."""
        dims, power = len(self.centre), self._radial_power
        sphere = 2 * jnp.pi ** (dims / 2) / gamma(dims / 2)
        r = jnp.linalg.norm(x - jnp.asarray(self.centre, x.dtype), axis=-1)
        return r ** (power - dims) * jnp.exp(-r / self.scale) / (sphere * gamma(power) * self.scale**power)


class Mixture(Source):
    """A box sampled by several densities at once, each point weighted by uniform density / mixture density.

    The inner product stays that of the box, so results compare with `box` itself. Each component gets a
    fixed share of every batch; what falls outside the box has weight zero.

    >>> box = Box(-80.0, 80.0, dims=2)
    >>> source = Mixture(box, [box, Radial(0.7, dims=2), Radial(4.0, dims=2)], shares=[0.2, 0.4, 0.4])
    """

    box: Box
    components: tuple[Box | Radial, ...]
    shares: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, box: Box, components: Sequence[Box | Radial], shares: Sequence[float]):
        self.box, self.components = box, tuple(components)
        if len(shares) != len(components) or not components or min(shares) <= 0:
            raise ValueError(
                f"shares must be one positive number for each of {len(components)} components; got {shares}"
            )
        for component in components:
            if component.shape != box.shape:
                raise ValueError(f"components must live in the box, {box.shape}; got {component} of {component.shape}")
        self.shares = tuple(share / sum(shares) for share in shares)

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,)."""
        return self.box.shape

    def sample(self, key: PRNGKeyArray, size: int) -> Points:
        """Points of all components, with importance weights of mean one."""
        counts = _apportion(size, self.shares)
        keys = jax.random.split(key, len(counts))
        drawn = [c.draw(k, count) for c, k, count in zip(self.components, keys, counts, strict=True)]
        x = jnp.concatenate(drawn)
        mixture = sum(
            (count / size) * component.density(x) for component, count in zip(self.components, counts, strict=True)
        )
        weights = self.box.density(x) / mixture
        inside = jnp.clip(x, jnp.asarray(self.box.low, x.dtype), jnp.asarray(self.box.high, x.dtype))
        return Points(inside, weights)


def box_of(source: Source) -> Box | None:
    """The box that a source draws from, if it is one."""
    inside = source.box if isinstance(source, Mixture) else source
    return inside if isinstance(inside, Box) else None


def _apportion(size: int, shares: tuple[float, ...]) -> list[int]:
    edges = [round(size * sum(shares[: i + 1])) for i in range(len(shares))]
    return [b - a for a, b in zip([0, *edges], edges, strict=False)]

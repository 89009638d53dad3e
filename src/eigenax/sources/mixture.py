"""Points drawn where they are needed, with importance weights that undo the bias."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from eigenax.core.batch import Points
from eigenax.core.lattice import independent, shifted_lattice
from eigenax.domains.box import Box
from eigenax.sources.base import Component, Source


class Mixture(Source):
    """A box sampled by several densities at once, each point weighted by uniform density / mixture density.

    The inner product stays that of the box, so that results can be compared with those of `box` itself. Each component
    gets a fixed share of every batch; points that fall outside the box have weight zero.

    >>> from eigenax import Radial
    >>> box = Box(-80.0, 80.0, dims=2)
    >>> source = Mixture(box, [box, Radial(0.7, dims=2), Radial(4.0, dims=2)], shares=[0.2, 0.4, 0.4])
    """

    few_operations: ClassVar[bool] = True

    box: Box
    components: tuple[Component, ...]
    shares: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, box: Box, components: Sequence[Component], shares: Sequence[float]):
        self.box, self.components = box, tuple(components)
        if len(shares) != len(components) or not components or min(shares) <= 0:
            raise ValueError(
                f"shares must be one positive number for each of {len(components)} components; got {shares}"
            )
        for component in components:
            if component.shape != box.shape:
                raise ValueError(
                    f"components must have points of the box's shape, {box.shape}; got {component} of {component.shape}"
                )
        self.shares = tuple(share / sum(shares) for share in shares)

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return self.box.shape

    @property
    def domain(self) -> Box:
        """The box, whose inner product it is."""
        return self.box

    def sample(self, key: PRNGKeyArray, size: int) -> Points:
        """Points of all components, with importance weights of mean one."""
        return self._placed(key, size, independent, 0)

    def sample_qmc(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Points:
        """The same, with evenly spread points for each component."""
        return self._placed(key, size, shifted_lattice, part)

    def _placed(self, key: PRNGKeyArray, size: int, uniform: Callable[..., Array], part: int | Array) -> Points:
        counts = _apportion(size, self.shares)
        pieces = list(zip(self.components, counts, jax.random.split(key, len(counts)), strict=True))
        drawn = [piece.icdf(uniform(key, count, piece.n_uniforms, part * count)) for piece, count, key in pieces]
        x = jnp.concatenate(drawn)
        mixture = sum((count / size) * piece.density(x) for piece, count, _ in pieces)
        uniform_density = self.box.density(x)
        # The farthest draws of a Gaussian may lie where its density rounds to zero in float32.
        weights = uniform_density / jnp.where(uniform_density > 0, mixture, 1)
        # Points of weight zero are moved into the box, and not to a face, where a potential may be infinite.
        low, high = jnp.asarray(self.box.low, x.dtype), jnp.asarray(self.box.high, x.dtype)
        elsewhere = low + (x - low) % (high - low)
        return Points(jnp.where(uniform_density[:, None] > 0, x, elsewhere), weights)


def _apportion(size: int, shares: tuple[float, ...]) -> list[int]:
    """Divide `size` into whole numbers in proportion to the shares."""
    edges = [round(size * sum(shares[: i + 1])) for i in range(len(shares))]
    return [b - a for a, b in zip([0, *edges], edges, strict=False)]

"""A probability distribution as a source."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.core.batch import Points
from eigenax.core.lattice import independent, shifted_lattice
from eigenax.sources.base import Source
from eigenax.sources.mixture import Component


class Distribution(Source):
    """The points of a density such as `Gaussian`, all of weight one: means over them are means under it.

    >>> from eigenax import Gaussian
    >>> Distribution(Gaussian(0.0, 1.0, dims=2)).shape
    (2,)
    """

    density: Component

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,)."""
        return self.density.shape

    def sample(self, key: PRNGKeyArray, size: int) -> Points:
        """Independent points."""
        return self._placed(independent(key, size, self.density.numbers))

    def spread(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Points:
        """Evenly spread points."""
        return self._placed(shifted_lattice(key, size, self.density.numbers, part * size))

    def _placed(self, uniform: Float[Array, "b m"]) -> Points:
        return Points(self.density.place(uniform), jnp.ones(len(uniform), uniform.dtype))

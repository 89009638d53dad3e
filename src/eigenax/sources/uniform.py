"""Sources of points that are uniform on a domain, or distributed with a density."""

from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from eigenax.core.batch import Points
from eigenax.core.lattice import independent, shifted_lattice
from eigenax.domains.base import Domain
from eigenax.sources.base import Component, Sampler, Source


class Uniform(Source):
    """Points that are uniform on a domain: the source that `solve` makes of a `Box` or a `Surface`.

    >>> from eigenax import Box
    >>> Uniform(Box(-1, 1, dims=2)).shape
    (2,)
    """

    few_operations: ClassVar[bool] = True

    over: Domain

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return self.over.shape

    @property
    def domain(self) -> Domain:
        """The domain that the points are uniform on."""
        return self.over

    @property
    def density(self) -> Component | None:
        """The uniform density on a box; None on a curved domain, whose points are weighted instead."""
        return self.over.uniform_density

    def sample(self, key: PRNGKeyArray, size: int) -> Points:
        """Independent points, weighted by area."""
        return self._placed(independent, key, size, 0)

    def sample_qmc(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Points:
        """Evenly spread points, weighted by area."""
        return self._placed(shifted_lattice, key, size, part * size)

    def _placed(self, uniform: Callable[..., Array], key: PRNGKeyArray, size: int, start: int | Array) -> Points:
        x = self.over.icdf(uniform(key, size, self.over.n_uniforms, start))
        return Points(x, self.over.importance_weights(x))


class Distribution(Source):
    """Points distributed with a density such as `Gaussian`, all of weight one: means over them are means under it.

    >>> from eigenax import Gaussian
    >>> Distribution(Gaussian(0.0, 1.0, dims=2)).shape
    (2,)
    """

    few_operations: ClassVar[bool] = True

    of: Component

    @property
    def shape(self) -> tuple[int, ...]:
        """(d,), the shape of one point."""
        return self.of.shape

    @property
    def density(self) -> Component:
        """The density of the points."""
        return self.of

    def sample(self, key: PRNGKeyArray, size: int) -> Points:
        """Independent points."""
        return self._placed(independent(key, size, self.of.n_uniforms))

    def sample_qmc(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Points:
        """Evenly spread points."""
        return self._placed(shifted_lattice(key, size, self.of.n_uniforms, part * size))

    def _placed(self, uniform: Array) -> Points:
        return Points(self.of.icdf(uniform), jnp.ones(len(uniform), uniform.dtype))


def as_source(given: Any) -> Source:
    """The source of independent points that a domain, density, source or sampler stands for; others are refused.

    >>> from eigenax import Adaptive, Box
    >>> type(as_source(Adaptive(Box(0, 1)))).__name__
    'Uniform'
    """
    sampler = as_sampler(given)
    if not isinstance(sampler, Sampler):
        raise TypeError(
            "source must be an eigenax domain or source such as Box(-5, 5, dims=2) or Arrays(x); got "
            f"{type(given).__name__}"
        )
    return sampler.source


def as_sampler(given: Any) -> Any:
    """Turn a domain or a density into the source of its points; return samplers and anything else unchanged.

    >>> from eigenax import Box
    >>> type(as_sampler(Box(0, 1))).__name__
    'Uniform'
    """
    if isinstance(given, Sampler):
        return given
    if isinstance(given, Domain):
        return Uniform(given)
    return Distribution(given) if isinstance(given, Component) else given

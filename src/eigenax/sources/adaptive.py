"""Points where the functions are, as they move during training."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.core.batch import Batch, Function, Points
from eigenax.core.lattice import drawn_in_proportion
from eigenax.sources.base import Source

ANYWHERE = 0.5
"""The share of a batch that is drawn whatever the functions are. With less, functions grow unseen where few points
are."""


class Adaptive(Source):
    """A source of points that draws each training batch where |u|² is large, with weights that undo it.

    Of `candidates` points of another source for each one wanted, those are drawn more often where the functions that
    are being trained are large, each function counting alike; E[w f] stays what it is. For local operators, whose
    states fill a small part of a box, and a network that is trained. Results are measured on the other source.

    >>> from eigenax import Box
    >>> Adaptive(Box(-6, 6, dims=3)).candidates
    16
    """

    source: Source
    candidates: int = eqx.field(static=True, default=16)

    def __check_init__(self):
        source = self.source
        if not isinstance(source, Source) or source.draws is not Points or isinstance(source, Adaptive):
            came = type(source).__name__
            raise ValueError(f"Adaptive needs a source of single points, such as Box or Mixture; got {came}")
        if not isinstance(self.candidates, int) or self.candidates < 1:
            raise ValueError(f"candidates must be a whole number of at least 1; got {self.candidates!r}")

    @property
    def shape(self) -> tuple[int, ...]:
        """As the other source."""
        return self.source.shape

    def sample(self, key: PRNGKeyArray, size: int) -> Batch:
        """Points of the other source."""
        return self.source.sample(key, size)

    def spread(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Batch:
        """Evenly spread points of the other source."""
        return self.source.spread(key, size, part)

    def sample_for(self, function: Function, key: PRNGKeyArray, size: int) -> Points:
        """A batch for training these functions."""
        drawing, choosing = jax.random.split(key)
        drawn = self.source.sample(drawing, self.candidates * size)
        x, weights = drawn.x, drawn.weights
        share = _shares(jax.vmap(function)(x), weights)
        chosen = drawn_in_proportion(choosing, share, size)
        return Points(x[chosen], weights[chosen] / (len(share) * share[chosen]))


def plain(source: Source) -> Source:
    """The source that does not adapt: what results are measured on."""
    return source.source if isinstance(source, Adaptive) else source


def _shares(u: Float[Array, "c k"], weights: Float[Array, " c"]) -> Float[Array, " c"]:
    """How likely each candidate is to be drawn."""
    squares = weights[:, None] * u**2
    each = squares / jnp.maximum(squares.sum(0), jnp.finfo(u.dtype).tiny)
    anywhere = jnp.full(len(weights), 1 / len(weights), u.dtype)
    share = ANYWHERE * anywhere + (1 - ANYWHERE) * each.mean(1)
    return share / share.sum()

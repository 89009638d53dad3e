"""Points where the functions are, as they move during training."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.checks import positive_int
from eigenax.core.batch import Function, Points
from eigenax.core.lattice import drawn_in_proportion
from eigenax.sources.base import Sampler, Source
from eigenax.sources.uniform import as_sampler

ANYWHERE = 0.5
"""The share of a batch that is drawn whatever the functions are. With less, functions grow unseen where few points
are."""


class Adaptive(Sampler):
    """Draws each training batch of a source where |u|² is large, with weights that undo it.

    Of `candidates` points of the source for each one wanted, those are drawn more often where the functions that are
    being trained are large, each function counting alike; E[w f] stays what it is. For local operators, whose states
    fill a small part of a box, and a network that is trained. Results are measured on the source.

    >>> from eigenax import Box
    >>> Adaptive(Box(-6, 6, dims=3)).candidates
    16
    """

    local_only: ClassVar[bool] = True

    of: Source
    candidates: int = eqx.field(static=True)

    def __init__(self, source: Any, candidates: int = 16):
        made = as_sampler(source)
        if not isinstance(made, Source) or made.draws is not Points:
            came = type(source).__name__
            raise ValueError(f"Adaptive needs a source of single points, such as Box or Mixture; got {came}")
        self.of, self.candidates = made, positive_int("candidates", candidates)

    @property
    def source(self) -> Source:
        """What candidates are drawn from."""
        return self.of

    def init(self, functions: Function, key: PRNGKeyArray, size: int) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def draw(self, state: Any, functions: Function, key: PRNGKeyArray, size: int) -> tuple[Any, Points]:
        """A batch for training these functions."""
        drawing, choosing = jax.random.split(key)
        drawn = self.of.sample(drawing, self.candidates * size)
        x, weights = drawn.x, drawn.weights
        share = _shares(jax.vmap(functions)(x), weights)
        chosen = drawn_in_proportion(choosing, share, size)
        return state, Points(x[chosen], weights[chosen] / (len(share) * share[chosen]))


def _shares(u: Float[Array, "c k"], weights: Float[Array, " c"]) -> Float[Array, " c"]:
    """How likely each candidate is to be drawn."""
    squares = weights[:, None] * u**2
    each = squares / jnp.maximum(squares.sum(0), jnp.finfo(u.dtype).tiny)
    anywhere = jnp.full(len(weights), 1 / len(weights), u.dtype)
    share = ANYWHERE * anywhere + (1 - ANYWHERE) * each.mean(1)
    return share / share.sum()

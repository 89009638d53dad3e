"""Training points drawn where the functions are large, adapted as these change."""

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

UNIFORM_SHARE = 0.5
"""The share of a batch that is drawn uniformly from the candidates, whatever the functions are. With a smaller share,
functions grow unnoticed where few points are drawn."""


class Adaptive(Sampler):
    """Draws more of each training batch where |u|² is large; importance weights undo the bias.

    For each point wanted, `candidates` points are drawn from the source. Of these, points are drawn with a probability
    that grows with |u|² of the functions being trained, to which each function contributes equally; E[w f] does not
    change. Use it to train a network for a local operator whose states fill a small part of a box. Results are
    measured on the source itself.

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
        """The source of the candidates."""
        return self.of

    def init(self, functions: Function, key: PRNGKeyArray, size: int) -> tuple[()]:
        """An empty state: there is nothing to remember."""
        return ()

    def draw(self, state: Any, functions: Function, key: PRNGKeyArray, size: int) -> tuple[Any, Points]:
        """A batch for training these functions."""
        drawing, choosing = jax.random.split(key)
        drawn = self.of.sample(drawing, self.candidates * size)
        x, weights = drawn.x, drawn.weights
        probability = _probabilities(jax.vmap(functions)(x), weights)
        chosen = drawn_in_proportion(choosing, probability, size)
        return state, Points(x[chosen], weights[chosen] / (len(probability) * probability[chosen]))


def _probabilities(u: Float[Array, "c k"], weights: Float[Array, " c"]) -> Float[Array, " c"]:
    """The probability of drawing each candidate."""
    squares = weights[:, None] * u**2
    of_each_function = squares / jnp.maximum(squares.sum(0), jnp.finfo(u.dtype).tiny)
    uniform = jnp.full(len(weights), 1 / len(weights), u.dtype)
    probability = UNIFORM_SHARE * uniform + (1 - UNIFORM_SHARE) * of_each_function.mean(1)
    return probability / probability.sum()

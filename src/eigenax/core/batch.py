"""What a source draws and an operator acts on: weighted points, alone or in pairs."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int


class Points(NamedTuple):
    """Independent points x with importance weights w of mean one: the mean of w f(x) estimates the integral of f."""

    x: Float[Array, "b ..."]
    weights: Float[Array, " b"]


class Pairs(NamedTuple):
    """b points x, and e pairs of these points with a weight each: successive frames, or edges of a graph.

    Functions are evaluated once at each point, even if it stands in several pairs. The weight of a point is the sum of
    its pairs' weights, unless endpoint weights are given.
    """

    x: Float[Array, "b ..."]
    first: Int[Array, " e"]
    """The index in x of the first point of each pair."""
    second: Int[Array, " e"]
    """The index in x of the second point of each pair."""
    pair_weights: Float[Array, " e"]
    endpoint_weights: tuple[Float[Array, " e"], Float[Array, " e"]] | None = None
    """What each pair adds to the weight of its first and of its second point, if not its own weight."""

    @property
    def weights_of_ends(self) -> tuple[Float[Array, " e"], Float[Array, " e"]]:
        """What each pair adds to the weight of its first and of its second point."""
        return self.endpoint_weights or (self.pair_weights, self.pair_weights)

    @property
    def weights(self) -> Float[Array, " b"]:
        """The weight of each point in Σ, to which both points of every pair contribute, half each."""
        return self.gather(*self.weights_of_ends) / 2

    def gather(self, at_first: Float[Array, "e ..."], at_second: Float[Array, "e ..."]) -> Float[Array, "b ..."]:
        """For each point, the sum of what its pairs give it, times b/e: its mean over points is the mean over pairs."""
        points, pairs = self.x.shape[0], self.first.shape[0]
        total = jax.ops.segment_sum(at_first, self.first, points)
        total += jax.ops.segment_sum(at_second, self.second, points)
        return total * (points / pairs)


Batch = Points | Pairs
Function = Callable[[Float[Array, "..."]], Inexact[Array, " k"]]
"""One point in, the values of k functions out."""


def effective_share(weights: Float[Array | np.ndarray, " b"]) -> Float[Array, ""]:
    """(Σw)²/(b Σw²): the effective sample size of b weighted points, as a share of b.

    >>> effective_share(jnp.array([1.0, 1.0, 0.0, 0.0]))
    Array(0.5, dtype=float32)
    """
    return jnp.sum(weights) ** 2 / jnp.sum(weights**2) / len(weights)


def pairs_of(x: Float[Array, "e ..."], y: Float[Array, "e ..."]) -> Pairs:
    """The pairs (x_i, y_i), each of weight one; all 2e points count as different ones.

    >>> pairs_of(jnp.zeros((3, 2)), jnp.ones((3, 2))).weights
    Array([1., 1., 1., 1., 1., 1.], dtype=float32)
    """
    size = x.shape[0]
    index = jnp.arange(size)
    return Pairs(jnp.concatenate([x, y]), index, index + size, jnp.ones(size, x.dtype))

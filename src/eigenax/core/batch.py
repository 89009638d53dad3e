"""What a source draws and an operator acts on: weighted points, alone or in pairs."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int


class Points(NamedTuple):
    """Independent points x with importance weights of mean one: E[w f(x)] is the inner product's integral."""

    x: Float[Array, "b ..."]
    weights: Float[Array, " b"]


class Pairs(NamedTuple):
    """Points x, and e pairs of them (successive frames, edges of a graph) with a weight each.

    A point may stand in several pairs and is evaluated once. It weighs as much as its pairs, unless these lend their
    two points weights of their own.
    """

    x: Float[Array, "b ..."]
    first: Int[Array, " e"]
    second: Int[Array, " e"]
    pair_weights: Float[Array, " e"]
    endpoint_weights: tuple[Float[Array, " e"], Float[Array, " e"]] | None = None

    @property
    def weights_of_ends(self) -> tuple[Float[Array, " e"], Float[Array, " e"]]:
        """What each pair lends its first and its second point."""
        return self.endpoint_weights or (self.pair_weights, self.pair_weights)

    @property
    def weights(self) -> Float[Array, " b"]:
        """The weight of each point, so that Σ counts both points of every pair."""
        return self.gather(*self.weights_of_ends) / 2

    def gather(self, at_first: Float[Array, "e ..."], at_second: Float[Array, "e ..."]) -> Float[Array, "b ..."]:
        """Sum what each pair gives its first and its second point, scaled so that means over pairs are kept."""
        points, pairs = self.x.shape[0], self.first.shape[0]
        total = jax.ops.segment_sum(at_first, self.first, points)
        total += jax.ops.segment_sum(at_second, self.second, points)
        return total * (points / pairs)


Batch = Points | Pairs
Function = Callable[[Float[Array, "..."]], Inexact[Array, " k"]]
"""One point in, the values of k functions out."""


def effective_share(weights: Float[Array | np.ndarray, " b"]) -> Float[Array, ""]:
    """(Σw)²/(b Σw²): the share of b weighted points that as many independent ones of equal weight would be.

    >>> effective_share(jnp.array([1.0, 1.0, 0.0, 0.0]))
    Array(0.5, dtype=float32)
    """
    return jnp.sum(weights) ** 2 / jnp.sum(weights**2) / len(weights)


def pairs_of(x: Float[Array, "e ..."], y: Float[Array, "e ..."]) -> Pairs:
    """Pairs (x_i, y_i) of equal weight, all points distinct.

    >>> pairs_of(jnp.zeros((3, 2)), jnp.ones((3, 2))).weights
    Array([1., 1., 1., 1., 1., 1.], dtype=float32)
    """
    size = x.shape[0]
    index = jnp.arange(size)
    return Pairs(jnp.concatenate([x, y]), index, index + size, jnp.ones(size, x.dtype))

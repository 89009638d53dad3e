"""The slowness of slow feature analysis: the mean squared change of functions between successive points."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from eigenax.core.batch import Batch, Function, Pairs
from eigenax.operators.base import IndependentEstimates, Operator


class Slowness(Operator):
    """⟨v, K v⟩ = E[(v(x) − v(x'))²] over pairs of successive points (the paper's equation 7).

    Its eigenvalues are the Δ-values of slow feature analysis. The constant is its first eigenfunction.
    """

    acts_on = Pairs
    fixes_constants: ClassVar[bool] = True
    differences: ClassVar[float | None] = 1.0
    in_time: ClassVar[bool] = True

    def apply(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> Float[Array, "b k"]:
        """K u at each point: the weighted sum of its differences from its partners, divided by its weight."""
        assert isinstance(batch, Pairs)
        change = batch.pair_weights[:, None] * (u[batch.first] - u[batch.second])
        weights = batch.weights[:, None]
        return jnp.where(weights > 0, batch.gather(change, -change) / jnp.where(weights > 0, weights, 1), 0)

    def independent_estimates(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> IndependentEstimates:
        """One estimate from each point's successor, one from its predecessor; points that lack either have weight zero.

        Past and future of a Markov process are independent given the present, and distributed alike if it is
        reversible.
        """
        assert isinstance(batch, Pairs)
        change = 2 * batch.pair_weights[:, None] * (u[batch.first] - u[batch.second])
        none, no_weight = jnp.zeros_like(change), jnp.zeros_like(batch.pair_weights)
        after, before = batch.gather(change, none), batch.gather(none, -change)
        as_first, as_second = batch.weights_of_ends
        has_after = batch.gather(as_first, no_weight)[:, None]
        has_before = batch.gather(no_weight, as_second)[:, None]
        both = (has_after > 0) & (has_before > 0)
        return IndependentEstimates(
            after / jnp.where(both, has_after, 1),
            before / jnp.where(both, has_before, 1),
            jnp.where(both[:, 0], batch.weights, 0),
        )

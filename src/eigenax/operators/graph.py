"""The Laplacian of a graph."""

from typing import ClassVar

from jaxtyping import Array, Float

from eigenax.core.batch import Batch, Function, Pairs
from eigenax.operators.base import IndependentEstimates, Operator
from eigenax.operators.slowness import Slowness


class GraphLaplacian(Operator):
    """⟨v, L v⟩ = ½ Σ_ij A_ij (v_i − v_j)² over the edges of a graph, or over transitions of a Markov process.

    Which matrix L is depends on the inner product, which is the source's: D − A where all nodes count alike, I − D⁻¹A
    where they count by their degrees. On pairs of successive points it is half of `Slowness`.

    >>> import eigenax as ex, jax.numpy as jnp
    >>> path = ex.Graph([(0, 1), (1, 2)], features=[[0.0], [1.0], [2.0]])
    >>> batch = path.whole()
    >>> GraphLaplacian().apply(None, batch, jnp.array([[1.0], [0.0], [0.0]])).ravel()
    Array([ 1., -1.,  0.], dtype=float32)
    """

    acts_on = Pairs
    fixes_constants: ClassVar[bool] = True
    differences: ClassVar[float | None] = 0.5

    def apply(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> Float[Array, "b k"]:
        """L u, of the pairs that are there."""
        return Slowness().apply(function, batch, u) / 2

    def independent_estimates(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> IndependentEstimates:
        """One estimate from the pairs a point is the first of, one from those it is the second of."""
        first, second, weights = Slowness().independent_estimates(function, batch, u)
        return IndependentEstimates(first / 2, second / 2, weights)

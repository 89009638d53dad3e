"""The Laplacian of a graph."""

from typing import ClassVar

from jaxtyping import Array, Float

from eigenax.core.batch import Batch, Function, Pairs
from eigenax.operators.base import IndependentEstimates, Operator
from eigenax.operators.slowness import Slowness


class GraphLaplacian(Operator):
    """⟨v, L v⟩ = ½ Σ_ij A_ij (v_i − v_j)² over the edges of a graph, or over transitions of a Markov process.

    The matrix L depends on the inner product, which the source defines: L = D − A if all nodes have equal weight, and
    L = I − D⁻¹A if their weights are their degrees. On pairs of successive points L is half of `Slowness`.

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
        """L u, estimated from the pairs of the batch."""
        return Slowness().apply(function, batch, u) / 2

    def independent_estimates(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> IndependentEstimates:
        """One estimate from the pairs in which a point comes first, one from those in which it comes second."""
        first, second, weights = Slowness().independent_estimates(function, batch, u)
        return IndependentEstimates(first / 2, second / 2, weights)

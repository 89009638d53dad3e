"""The Laplace–Beltrami operator: the Laplacian on a curved surface that is given by a parametrisation."""

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from eigenax.core.batch import Batch, Function
from eigenax.domains.geometry import Embedding, check_callable, check_embedding, frame
from eigenax.operators.base import Operator


class LaplaceBeltrami(Operator):
    """Δu = (1/√g) ∂_i(√g g^ij ∂_j u) on the manifold that `embedding` maps parameters to: q (d,) to a point (m,).

    u is a function of q. On a closed manifold u is smooth and Δ symmetric if u depends on q only through
    `embedding(q)`, as `Compose(embedding, network)` does. Draw the points from a `Surface`.

    >>> import eigenax as ex
    >>> circle = LaplaceBeltrami(lambda q: 2 * jnp.concatenate([jnp.cos(q), jnp.sin(q)]))
    >>> q = jnp.array([[1.0], [2.0]])
    >>> (circle.apply(jnp.sin, ex.Points(q, jnp.ones(2)), jnp.sin(q)) / jnp.sin(q)).round(4)
    Array([[-0.25],
           [-0.25]], dtype=float32)
    """

    embedding: Embedding = eqx.field(static=True)
    wants_boundary: ClassVar[bool] = False
    local: ClassVar[bool] = True
    unbounded: ClassVar[int] = -1

    def __check_init__(self):
        check_callable("LaplaceBeltrami(embedding)", self.embedding)

    def apply(self, function: Function, batch: Batch, u: Inexact[Array, "b k"]) -> Inexact[Array, "b k"]:
        """Δu at each point."""
        return jax.vmap(lambda q: self._at_point(function, q))(batch.x)

    def _at_point(self, function: Function, q: Float[Array, " d"]) -> Inexact[Array, " k"]:
        """The sum of the second derivatives of u along d orthogonal geodesics.

        A geodesic with velocity e has the acceleration −Γ(e, e): the tangential part of −J'[e, e], in parameters. Near
        the pole of a sphere this acceleration and J'[e, e] are both large and cancel. Along a geodesic they cancel
        inside embedding(q), before a network amplifies their rounding errors.
        """
        directions, tangents, _, _ = frame(self.embedding, q)

        def along(e: Array) -> Array:
            bend = _second_derivative(self.embedding, q, e, jnp.zeros_like(e))
            tangential = jnp.sum(tangents * bend, axis=1)
            acceleration = -jnp.sum(tangential[:, None] * directions, axis=0)
            return _second_derivative(function, q, e, acceleration)

        return jax.vmap(along)(directions).sum(0)

    def check(self, batch: Batch) -> None:
        """Check that the embedding is a finite vector with linearly independent derivatives at every sample."""
        check_embedding("LaplaceBeltrami(embedding)", self.embedding, batch.x)


def _second_derivative(
    function: Callable[[Array], Array],
    q: Float[Array, " d"],
    velocity: Float[Array, " d"],
    acceleration: Float[Array, " d"],
) -> Inexact[Array, " k"]:
    """The second derivative of a function along the curve q + t velocity + t²/2 acceleration, at t = 0."""

    def slope(y, v):
        return jax.jvp(function, (y,), (v,))[1]

    return jax.jvp(slope, (q, velocity), (velocity, acceleration))[1]

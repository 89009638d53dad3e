"""Integral operators with a symmetric kernel."""

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.checks import check_returns_number
from eigenax.core.batch import Batch, Function
from eigenax.core.captured_arrays import in_this_precision
from eigenax.core.rayleigh import HIGHEST
from eigenax.operators.base import IndependentEstimates, Operator


class Kernel(Operator):
    """K u(x) = E_x'[k(x, x') u(x')], k a plain JAX function of two points that returns a number.

    Every point of a batch is paired with every other one: this takes no more evaluations of u than disjoint pairs
    would, and has less variance. No point is paired with itself, which keeps the estimate unbiased.

    >>> smooth = Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
    """

    function: Callable[[Array, Array], Float[Array, ""]] = eqx.field(static=True)
    integral: ClassVar[bool] = True

    def apply(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> Float[Array, "b k"]:
        """The mean of k(x_i, x_j) u(x_j) over the other points j of the batch."""
        size = batch.x.shape[0]
        if size < 2:
            raise ValueError("Kernel needs batches of at least 2 points, to pair them; got 1")
        gram = self.gram(batch.x) * (1 - jnp.eye(size, dtype=u.dtype))
        return jnp.matmul(gram, batch.weights[:, None] * u, precision=HIGHEST) / (size - 1)

    def independent_estimates(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> IndependentEstimates:
        """One estimate from the even-numbered points of the batch, one from the odd-numbered ones."""
        size = batch.x.shape[0]
        gram = self.gram(batch.x) * (1 - jnp.eye(size, dtype=u.dtype))
        index = jnp.arange(size)

        def mean_over(half: Array) -> Array:
            partners = jnp.where(half, batch.weights, 0)
            others = half.sum() - half.astype(u.dtype)
            return jnp.matmul(gram, partners[:, None] * u, precision=HIGHEST) / others[:, None]

        return IndependentEstimates(mean_over(index % 2 == 0), mean_over(index % 2 == 1), batch.weights)

    def gram(self, x: Float[Array, "b ..."]) -> Float[Array, "b b"]:
        """k(x_i, x_j) for all pairs."""
        return self.between(x, x)

    def between(self, x: Float[Array, "b ..."], y: Float[Array, "c ..."]) -> Float[Array, "b c"]:
        """k(x_i, y_j) for all pairs."""
        function = in_this_precision(self.function)
        return jax.vmap(lambda a: jax.vmap(lambda b: function(a, b))(y))(x)

    def check(self, batch: Batch) -> None:
        """Check that k(x, y) is one finite number and equals k(y, x)."""
        check_returns_number("Kernel(function)", self.function, batch.x[0], batch.x[0])
        check_gram(np.asarray(self.gram(batch.x[:64]), float))


def check_gram(gram: Float[np.ndarray, "b b"]) -> None:
    """Refuse a Gram matrix of kernel values unless it is finite and symmetric."""
    check_finite(gram)
    asymmetry = np.abs(gram - gram.T).max()
    if asymmetry > 1e-3 * np.abs(gram).max():
        raise ValueError(
            f"Kernel(function): the kernel is not symmetric: k(x, y) and k(y, x) differ by up to "
            f"{asymmetry:.3g} on samples. Symmetrise it, for example (k(x, y) + k(y, x)) / 2"
        )


def check_finite(values: Float[np.ndarray, "..."]) -> None:
    """Refuse kernel values that are NaN or infinite."""
    if not np.isfinite(values).all():
        raise ValueError("Kernel(function): the function returned NaN or infinity for two points of the source")

"""Multiplication by a function of position."""

from collections.abc import Callable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.batch import Batch
from eigenax.operators.base import Function, Operator, check_returns_number


class Potential(Operator):
    """V(x) u(x), V a plain JAX function of one point (d,) that returns a number.

    >>> well = Potential(lambda x: jnp.sum(x**2))
    """

    function: Callable[[Float[Array, " d"]], Float[Array, ""]] = eqx.field(static=True)

    def apply(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> Float[Array, "b k"]:
        """V u at each point."""
        return jax.vmap(self.function)(batch.x)[:, None] * u

    def check(self, batch: Batch) -> None:
        """V must give one finite number at every sample."""
        check_returns_number("Potential(function)", self.function, batch.x[0])
        values = np.asarray(jax.vmap(self.function)(batch.x))
        if not np.isfinite(values).all():
            where = int(np.argmin(np.isfinite(values)))
            raise ValueError(
                f"Potential(function): the function returned {values[where]} at x = {_show(batch.x[where])}; "
                "it must be finite wherever the source draws points"
            )


def _show(x: Float[Array, "..."]) -> str:
    return np.array2string(np.asarray(x), precision=4, separator=", ", threshold=8)

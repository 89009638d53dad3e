"""Factors that make functions vanish where they must."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class BoxFactor(eqx.Module):
    """∏_i (√(2 D_i² − y_i²) − D_i) with y measured from the middle of a box of half-widths D.

    Zero on every face with a finite slope there, as in the paper; scaled to one in the middle, so that
    the size of the box does not become the size of the functions. Finite differences need the smooth continuation just
    outside; far outside, where the formula ends, the factor is zero.

    >>> BoxFactor(-2.0, 2.0)(jnp.array([2.0]))
    Array(0., dtype=float32)
    """

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, low: float | Sequence[float], high: float | Sequence[float]):
        self.low, self.high = tuple(np.atleast_1d(low).tolist()), tuple(np.atleast_1d(high).tolist())

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The factor at one point."""
        low, high = jnp.asarray(self.low, x.dtype), jnp.asarray(self.high, x.dtype)
        y = (2 * x - low - high) / (high - low)
        squared = jnp.where(jnp.abs(y) < 1.4, y**2, 1.0)
        return jnp.prod((jnp.sqrt(2 - squared) - 1) / (np.sqrt(2) - 1))

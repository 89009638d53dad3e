"""Multiplication by a function of position."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Inexact

from eigenax.checks import check_returns_number
from eigenax.core.batch import Batch, Function
from eigenax.core.captured_arrays import in_this_precision
from eigenax.operators.base import Operator


class Potential(Operator):
    """V(x) u(x), where V is a plain JAX function of one point (d,) that returns a number.

    `singularities` are the points where V has no finite limit, such as the nucleus of an atom. Functions may have a
    cusp there, and more points are drawn near them.

    >>> well = Potential(lambda x: jnp.sum(x**2))
    >>> atom = Potential(lambda x: -1 / jnp.linalg.norm(x), singularities=[(0.0, 0.0)])
    """

    function: Callable[[Float[Array, " d"]], Float[Array, ""]] = eqx.field(static=True)
    points: tuple[tuple[float, ...], ...] = eqx.field(static=True)
    local: ClassVar[bool] = True

    def __init__(
        self, function: Callable[[Float[Array, " d"]], Float[Array, ""]], singularities: Sequence[Sequence[float]] = ()
    ):
        self.function = function
        try:
            self.points = tuple(tuple(float(value) for value in point) for point in singularities)
        except TypeError as error:
            raise ValueError(
                f"singularities must be a list of points, one sequence of numbers each; got {singularities!r}"
            ) from error

    def singularities(self) -> tuple[tuple[float, ...], ...]:
        """The singularities of V that were given."""
        return self.points

    def apply(self, function: Function, batch: Batch, u: Inexact[Array, "b k"]) -> Inexact[Array, "b k"]:
        """V u at each point."""
        return jax.vmap(in_this_precision(self.function))(batch.x)[:, None] * u

    def check(self, batch: Batch) -> None:
        """Check that V is one finite number at every sample."""
        check_returns_number("Potential(function)", self.function, batch.x[0])
        for point in self.points:
            if (len(point),) != batch.x.shape[1:] or not np.isfinite(point).all():
                raise ValueError(
                    f"singularities must be finite points of shape {batch.x.shape[1:]}, as the source draws them; "
                    f"got {point}"
                )
        values = np.asarray(jax.vmap(in_this_precision(self.function))(batch.x))
        if not np.isfinite(values).all():
            where = int(np.argmin(np.isfinite(values)))
            raise ValueError(
                f"Potential(function): the function returned {values[where]} at x = {_show(batch.x[where])}; "
                "it must be finite wherever the source draws points"
            )


def _show(x: Float[Array, "..."]) -> str:
    return np.array2string(np.asarray(x), precision=4, separator=", ", threshold=8)

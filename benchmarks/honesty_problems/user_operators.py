"""Operators of a user's own, and multiples of ours."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import eigenax as ex
from honesty_problems.base import Found, problem, solved
from honesty_problems.references import line_levels, lowest_sums, zero

KIND = "user operators"


class Diffusion(ex.Operator):
    """−∇·(a ∇u), as docs/extend.md writes it."""

    conductivity: Callable[[Any], Any] = eqx.field(static=True)
    wants_boundary: ClassVar[bool] = True
    unbounded: ClassVar[int] = 1

    def apply(self, function: Any, batch: Any, u: Any) -> Any:
        def flux(x: Any) -> Any:
            return self.conductivity(x) * jax.jacfwd(function)(x)

        def divergence(x: Any) -> Any:
            return jnp.trace(jax.jacfwd(flux)(x), axis1=1, axis2=2)

        return -jax.vmap(divergence)(batch.x)


@problem(KIND, "diffusion-x2", 25)
def square_conductivity() -> Found:
    return solved(Diffusion(lambda x: x[0] ** 2), ex.Box(1.0, np.e), 0.25 + (np.pi * np.arange(1, 6)) ** 2)


@problem(KIND, "diffusion-wavy-free", 30)
def wavy() -> Found:
    """A conductivity that varies fifty-fold, between free ends."""
    exact = line_levels(
        zero,
        (0, 3),
        5,
        ends=("neumann", "neumann"),
        conductivity=lambda x: np.exp(2 * np.sin(2 * np.pi * x)),
        pieces=40,
    )
    return solved(Diffusion(lambda x: jnp.exp(2 * jnp.sin(2 * jnp.pi * x[0]))), ex.Box(0, 3, boundary="neumann"), exact)


@problem(KIND, "diffusion-layers", 30)
def layers() -> Found:
    """Two materials: the conductivity jumps from 1 to 9, and slopes with it."""
    exact = line_levels(zero, (0, 1, 2), 4, conductivity=lambda x: np.where(x < 1, 1.0, 9.0), pieces=24)
    return solved(Diffusion(lambda x: jnp.where(x[0] < 1, 1.0, 9.0)), ex.Box(0, 2), exact)


@problem(KIND, "diffusion-and-potential-2d", 50)
def both() -> Found:
    """½ of −∇² and of the user's own, a sum and a multiple, with a potential along one axis."""
    operator = 0.5 * Diffusion(lambda x: 1.0 + 0 * x[0]) - 0.5 * ex.Laplacian() + ex.Potential(lambda x: 4 * x[1] ** 2)
    exact = lowest_sums(5, (np.pi * np.arange(1, 6) / 3) ** 2, 2 * (2.0 * np.arange(5) + 1))
    return solved(operator, ex.Box((0, -5), (3, 5)), exact)


@problem(KIND, "twice-a-path", 15)
def independent_estimates() -> Found:
    exact = 2 * (2 - 2 * np.cos(np.pi * np.arange(6) / 80))
    return solved(2 * ex.GraphLaplacian(), ex.Graph([(k, k + 1) for k in range(79)]), exact)

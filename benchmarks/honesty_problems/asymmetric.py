"""Operators that are not symmetric, which have no right answer here, and should be refused or marked."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import eigenax as ex
from honesty_problems.base import Found, problem, solved

KIND = "asymmetric"


class Drift(ex.Operator):
    """u ↦ f · ∇u."""

    field: Callable[[Any], Any] = eqx.field(static=True)
    wants_boundary: ClassVar[bool] = True
    local: ClassVar[bool] = True

    def apply(self, function: Any, batch: Any, u: Any) -> Any:
        return jax.vmap(lambda x: jax.jvp(function, (x,), (self.field(x),))[1])(batch.x)


@problem(KIND, "drift-1d", 30, may_refuse=True)
def drift() -> Found:
    """−u″ + 4u′: π² k² + 4."""
    exact = (np.pi * np.arange(1, 4)) ** 2 + 4
    return solved(-ex.Laplacian() + Drift(lambda x: jnp.full(1, 4.0)), ex.Box(0, 1), exact)


@problem(KIND, "slight-drift-1d", 30, may_refuse=True)
def slight_drift() -> Found:
    """−u″ + 0.5u′, by which values are shifted by 1/16."""
    exact = (np.pi * np.arange(1, 4)) ** 2 + 0.0625
    return solved(-ex.Laplacian() + Drift(lambda x: jnp.full(1, 0.5)), ex.Box(0, 1), exact)


@problem(KIND, "rotation-2d", 50, may_refuse=True)
def rotation() -> Found:
    """An oscillator that is stirred: 2, 4 ± 1.5i."""
    operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
    stirred = operator + Drift(lambda x: 1.5 * jnp.stack([-x[1], x[0]]))
    return solved(stirred, ex.Box(-6, 6, dims=2), np.array([2, 4 - 1.5j, 4 + 1.5j]))


@problem(KIND, "langevin-1d", 30, may_refuse=True)
def langevin() -> Found:
    """−u″ + V′u′ for V = x²/2 under uniform points instead of e^{−V}: 0, 1, 2, … of Hermite polynomials."""
    return solved(-ex.Laplacian() + Drift(lambda x: x), ex.Box(-6, 6, boundary="neumann"), np.arange(4.0))


@problem(KIND, "lopsided-kernel", 20, may_refuse=True)
def lopsided() -> Found:
    """exp(−(x − y)²) (1 + y/2) between points on a line."""
    points = np.random.default_rng(0).uniform(-1, 1, (500, 1))
    gram = np.exp(-((points - points.T) ** 2)) * (1 + points.T / 2) / len(points)
    exact = np.sort(np.linalg.eigvals(gram).real)[::-1][:3]
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)) * (1 + y[0] / 2))
    return solved(kernel, ex.Arrays(points), exact, which="largest")

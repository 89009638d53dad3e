"""The envelope of the ground state, by least variance of its local energy: a few Gauss–Newton iterations."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.batch import Points
from eigenax.core.compiled import compiled
from eigenax.operators.base import Operator

ITERATIONS = 30
"""The most iterations of Levenberg and Marquardt."""
FIRST_DAMPING = 1e-2
"""The first damping, relative to the diagonal of the normal equations."""
MOST_DAMPING = 1e4
"""No step can lower the variance where it needs more damping than this."""
RIDGE = 1e-6
"""The least damping: directions that the points hardly tell stay where they are."""
ENOUGH = 0.02
"""Iterations end when the variance falls by less than this share."""


def least_variance(
    operator: Operator,
    log_of: Callable[[Float[Array, " p"], Float[Array, " d"]], Float[Array, ""]],
    theta: Float[np.ndarray, " p"],
    x: Float[np.ndarray, "b d"],
    weights: Float[np.ndarray, " b"],
) -> Float[np.ndarray, " p"]:
    """The parameters for which K u / u varies least over weighted points, with u = exp(log_of(θ, x)).

    Of an eigenfunction K u / u is constant, on whatever points: there is no noise, and if an eigenfunction is of this
    form it is found to nearly all digits. It is the ground state, since u has no nodes.

    >>> import eigenax as ex
    >>> oscillator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> least_variance(oscillator, lambda theta, x: -theta[0] * jnp.sum(x**2), np.ones(1), x, np.ones(100)).round(4)
    array([0.5])
    """
    share = weights / weights.sum()
    root = np.sqrt(share)
    points, log_of = jnp.asarray(x, jnp.zeros(()).dtype), eqx.Partial(log_of)

    def seen(theta: Float[np.ndarray, " p"]) -> tuple[Float[np.ndarray, " b"], Float[np.ndarray, "b p"]]:
        energies, slopes = _local_energies(operator, log_of, jnp.asarray(theta, points.dtype), points)
        energies, slopes = np.asarray(energies, np.float64), np.asarray(slopes, np.float64)
        return root * (energies - share @ energies), root[:, None] * (slopes - share @ slopes)

    damping, (away, slopes) = FIRST_DAMPING, seen(theta)
    for _ in range(ITERATIONS):
        normal = slopes.T @ slopes
        sizes = np.diag(normal) + np.finfo(np.float32).eps * np.diag(normal).max()
        step = np.linalg.solve(normal + (damping + RIDGE) * np.diag(sizes), slopes.T @ away)
        tried, tried_slopes = seen(theta - step)
        gain = 1 - (tried @ tried) / max(away @ away, np.finfo(np.float32).tiny)
        if not gain > 0:  # also where it is not finite
            damping *= 10
            if damping > MOST_DAMPING:
                break
            continue
        theta, away, slopes, damping = theta - step, tried, tried_slopes, damping / 5
        if gain < ENOUGH:
            break
    return theta


@compiled
def _local_energies(
    operator: Operator, log_of: Any, theta: Float[Array, " p"], x: Float[Array, "b d"]
) -> tuple[Float[Array, " b"], Float[Array, "b p"]]:
    """K u / u at each point, and its gradient in the parameters."""

    def local_energy(theta: Array, here: Array) -> Array:
        # One at this point, so that u may be of any size there.
        level = jax.lax.stop_gradient(log_of(theta, here))

        def u(y: Array) -> Array:
            return jnp.exp(log_of(theta, y) - level)[None]

        ku = operator.apply(u, Points(here[None], jnp.ones(1, here.dtype)), u(here)[None])
        return ku[0, 0] / u(here)[0]

    return jax.lax.map(lambda here: jax.value_and_grad(local_energy)(theta, here), x, batch_size=512)

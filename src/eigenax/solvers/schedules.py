"""Averaging rates that follow the learning rate, and the decay of an optimiser's second moment."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Float

Schedule = optax.Schedule
"""A number for each step."""


def ema_schedule(learning_rate: Schedule, *, power: float = 0.5, floor: float = 0.01) -> Schedule:
    """β_t = max(floor, (α_t/α_0)^power): no averaging while the functions move fast, more as they slow down.

    With power < 1, α_t/β_t falls to zero as the two-timescale theory asks.

    >>> rate = ema_schedule(optax.exponential_decay(1e-3, 1000, 0.01))
    >>> round(float(rate(0)), 3), round(float(rate(1000)), 3)
    (1.0, 0.1)
    """

    def rate(step: ArrayLike) -> Float[Array, ""]:
        relative = jnp.asarray(learning_rate(step)) / jnp.asarray(learning_rate(jnp.zeros_like(step)))
        return jnp.maximum(floor, relative**power)

    return rate


def starts_below_one(rate: float | Schedule) -> bool:
    """Whether a rate is below one at the first step, so that averaging starts there.

    >>> starts_below_one(0.01), starts_below_one(ema_schedule(optax.constant_schedule(1.0)))
    (True, False)
    """
    return float(jnp.asarray(rate(jnp.zeros((), int)) if callable(rate) else rate)) < 1


def second_moment_decay(optimizer: optax.GradientTransformation) -> float | None:
    """The decay of an optimiser's second moment per step, found by trying it; None if it has none or cannot be tried.

    >>> round(second_moment_decay(optax.rmsprop(1e-3, decay=0.9)), 3)
    0.9
    """
    parameter, moments = jnp.ones(()), []
    try:
        state = optimizer.init(parameter)
        for gradient in (jnp.ones(()), jnp.zeros(())):
            _, state = optimizer.update(gradient, state, parameter)
            moments.append(_second_moments(state))
    except Exception:  # it works on the parameters of one network only, or needs more than a gradient
        return None
    for before, after in zip(*moments, strict=True):
        if before > 0:
            return after / before
    return None


def _second_moments(state: optax.OptState) -> list[float]:
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return [float(leaf) for path, leaf in leaves if getattr(path[-1], "name", None) == "nu" and jnp.ndim(leaf) == 0]

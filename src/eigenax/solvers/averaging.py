"""What is common to solvers that average Σ and Π over batches and descend with an optax optimiser."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from eigenax.core.batch import Batch
from eigenax.core.rayleigh import Quotient, quotient, second_moment
from eigenax.operators.base import Operator
from eigenax.solvers.gradient import GradientSolver
from eigenax.solvers.schedules import Schedule


class State(NamedTuple):
    """What the next step needs."""

    network: Any
    optimizer: optax.OptState
    sigma: Float[Array, "k k"]
    pi: Float[Array, "k k"]
    """The moving averages Σ̄ and Π̄. Σ̄ starts at the identity, Π̄ at the value of the first batch."""
    step: Int[Array, ""]
    more: Any = None
    """What else the solver updates: the average of a Jacobian, or dual variables."""


class Info(NamedTuple):
    """What is logged of a step, and whether it succeeded."""

    eigenvalues: Float[Array, " k"]
    residuals: Float[Array, " k"]
    """√E[w r_k²] on the batch, where r_k is the part of K v_k outside the span of v_1, …, v_k (of all, for `Trace`)."""
    gradient_norm: Float[Array, ""]
    ema_rate: Float[Array, ""]
    healthy: Bool[Array, ""]
    """False if Λ, an eigenvalue or the gradient is not finite."""


class Averaging(GradientSolver):
    """A solver with an optimiser and moving averages of Σ and Π."""

    optimizer: eqx.AbstractVar[Any]

    def begin(self, network: Any, outputs: int) -> State:
        """The state before the first step."""
        parameters = eqx.filter(network, eqx.is_inexact_array)
        identity = jnp.eye(outputs, dtype=jax.tree.leaves(parameters)[0].dtype)
        return State(network, self.optimizer.init(parameters), identity, 0 * identity, jnp.zeros((), jnp.int32))


class Evaluated(NamedTuple):
    """The functions on a batch and the updated averages: what all of these solvers compute first."""

    network: Any
    u: Float[Array, "b k"]
    ku: Float[Array, "b k"]
    weights: Float[Array, " b"]
    pullback: Any
    sigma: Float[Array, "k k"]
    pi: Float[Array, "k k"]
    now: Quotient
    """L and Λ of the averages, this batch included."""
    ema_rate: Float[Array, ""]

    def gradient(self, descent: Float[Array, "b k"]) -> Any:
        """The gradient with respect to the parameters, from a gradient `descent` with respect to u at each point."""
        return self.pullback(self.weights[:, None] * descent / len(descent))


def evaluate(operator: Operator, state: State, batch: Batch, ema_rate: Float[Array, ""]) -> Evaluated:
    """Evaluate the functions on a batch, and update the averages with it."""
    u, pullback = _with_pullback(state.network, batch)
    ku = operator.apply(state.network, batch, u)
    sigma: Any = optax.incremental_update(second_moment(u, u, batch.weights), state.sigma, ema_rate)
    pi: Any = optax.incremental_update(
        second_moment(u, ku, batch.weights), state.pi, jnp.where(state.step == 0, 1, ema_rate)
    )
    return Evaluated(state.network, u, ku, batch.weights, pullback, sigma, pi, quotient(sigma, pi), ema_rate)


def _with_pullback(network: Any, batch: Batch) -> tuple[Float[Array, "b k"], Callable[[Float[Array, "b k"]], Any]]:
    """The functions u at the points of a batch, and the map from cotangents of u to those of the parameters."""
    parameters, static = eqx.partition(network, eqx.is_inexact_array)
    u, pullback = jax.vjp(lambda p: jax.vmap(eqx.combine(p, static))(batch.x), parameters)
    return u, lambda cotangent: pullback(cotangent)[0]


def descend(
    optimizer: optax.GradientTransformation,
    memory: optax.OptState,
    seen: Evaluated,
    gradient: Any,
    values: Float[Array, " k"],
    r: Float[Array, "b k"],
) -> tuple[Any, optax.OptState, Info]:
    """Take a step of the optimiser: the new network, the new state of the optimiser, and what is logged."""
    updates, memory = optimizer.update(gradient, memory, eqx.filter(seen.network, eqx.is_inexact_array))
    norm = optax.tree.norm(gradient)
    healthy = jnp.isfinite(norm) & jnp.isfinite(values).all() & jnp.isfinite(seen.now.matrix).all()
    sizes = jnp.sqrt(jnp.mean(seen.weights[:, None] * r**2, axis=0))
    return eqx.apply_updates(seen.network, updates), memory, Info(values, sizes, norm, seen.ema_rate, healthy)


def check_optimizer(optimizer: Any) -> None:
    """Raise a TypeError if this is not an optax optimiser."""
    if not isinstance(optimizer, optax.GradientTransformation):
        raise TypeError(f"optimizer must be an optax optimiser such as optax.adam(1e-3); got {optimizer!r}")


def at_step(value: float | Schedule | None, step: Int[Array, ""], like: Float[Array, "k k"]) -> Float[Array, ""]:
    """The value of a rate at a step: of a schedule, or a number; one if it is None."""
    return jnp.asarray(value(step) if callable(value) else 1.0 if value is None else value, like.dtype)

"""What solvers share that average Σ and Π over batches and descend with an optimiser of optax."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from eigenax.core.batch import Batch
from eigenax.core.rayleigh import Quotient, quotient, second_moment
from eigenax.operators.base import Operator
from eigenax.solvers.gradient import GradientSolver, with_pullback
from eigenax.solvers.schedules import Schedule


class State(NamedTuple):
    """What the next step needs."""

    network: Any
    optimizer: optax.OptState
    sigma: Float[Array, "k k"]
    pi: Float[Array, "k k"]
    """Σ̄ and Π̄, which start at the identity and at the first batch's."""
    step: Int[Array, ""]
    more: Any = None
    """What else a solver averages: a Jacobian, or dual variables."""


class Info(NamedTuple):
    """What a person needs."""

    eigenvalues: Float[Array, " k"]
    residuals: Float[Array, " k"]
    """√E[w r_k²] on the batch, r_k being what K v_k has beyond the span of v_1, …, v_k (for `Trace`, of all)."""
    gradient_norm: Float[Array, ""]
    ema_rate: Float[Array, ""]
    healthy: Bool[Array, ""]


class Averaging(GradientSolver):
    """A solver with an optimiser, and averages of Σ and Π."""

    optimizer: eqx.AbstractVar[Any]

    def begin(self, network: Any, outputs: int) -> State:
        """The state before the first step."""
        parameters = eqx.filter(network, eqx.is_inexact_array)
        identity = jnp.eye(outputs, dtype=jax.tree.leaves(parameters)[0].dtype)
        return State(network, self.optimizer.init(parameters), identity, 0 * identity, jnp.zeros((), jnp.int32))


class Seen(NamedTuple):
    """What these solvers make of a batch, before they part."""

    network: Any
    u: Float[Array, "b k"]
    ku: Float[Array, "b k"]
    weights: Float[Array, " b"]
    pullback: Any
    sigma: Float[Array, "k k"]
    pi: Float[Array, "k k"]
    now: Quotient
    ema_rate: Float[Array, ""]

    def gradient(self, descent: Float[Array, "b k"]) -> Any:
        """With respect to the parameters, given that with respect to u at each point."""
        return self.pullback(self.weights[:, None] * descent / len(descent))


def look(operator: Operator, state: State, batch: Batch, ema_rate: Float[Array, ""]) -> Seen:
    """The functions on a batch, and the averages with the batch in them."""
    u, pullback = with_pullback(state.network, batch)
    ku = operator.apply(state.network, batch, u)
    sigma: Any = optax.incremental_update(second_moment(u, u, batch.weights), state.sigma, ema_rate)
    pi: Any = optax.incremental_update(
        second_moment(u, ku, batch.weights), state.pi, jnp.where(state.step == 0, 1, ema_rate)
    )
    return Seen(state.network, u, ku, batch.weights, pullback, sigma, pi, quotient(sigma, pi), ema_rate)


def descend(
    optimizer: optax.GradientTransformation,
    memory: optax.OptState,
    seen: Seen,
    gradient: Any,
    values: Float[Array, " k"],
    r: Float[Array, "b k"],
) -> tuple[Any, optax.OptState, Info]:
    """The network after a step against a gradient, and what is to be said of it."""
    updates, memory = optimizer.update(gradient, memory, eqx.filter(seen.network, eqx.is_inexact_array))
    norm = optax.tree.norm(gradient)
    healthy = jnp.isfinite(norm) & jnp.isfinite(values).all() & jnp.isfinite(seen.now.matrix).all()
    sizes = jnp.sqrt(jnp.mean(seen.weights[:, None] * r**2, axis=0))
    return eqx.apply_updates(seen.network, updates), memory, Info(values, sizes, norm, seen.ema_rate, healthy)


def check_optimizer(optimizer: Any) -> None:
    """Refuse what is no optimiser."""
    if not isinstance(optimizer, optax.GradientTransformation):
        raise TypeError(f"optimizer must be an optax optimiser such as optax.adam(1e-3); got {optimizer!r}")


def at_step(value: float | Schedule | None, step: Int[Array, ""], like: Float[Array, "k k"]) -> Float[Array, ""]:
    """A ema_rate at a step; one, where there is none."""
    return jnp.asarray(value(step) if callable(value) else 1.0 if value is None else value, like.dtype)

"""Spectral inference networks: the paper's Algorithm 1, and a version that averages only two small matrices."""

import dataclasses
import functools
import warnings
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from eigenax.core import jacobian as jac
from eigenax.core.batch import Batch
from eigenax.core.rayleigh import (
    Quotient,
    masked_gradient_of_moments,
    quotient,
    residual,
    second_moment,
    spectral_size,
)
from eigenax.networks.base import is_separate
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.solvers.averaging import Averaging, Evaluated, Info, State, at_step, check_optimizer, descend, evaluate
from eigenax.solvers.schedules import Schedule, ema_schedule, second_moment_decay, starts_below_one

Average = Literal["moments", "jacobian"]
LAST_STEP = 2**30
"""A step at which any schedule has reached its last value."""


class SpIN(Averaging):
    """Stochastic descent along the masked gradient, whose bias is corrected by moving averages.

    `average="moments"` averages Σ and Π, and takes one backward pass. `"jacobian"` averages Σ and its Jacobian, as the
    paper does, at the cost of k² backward passes; a `Conv` with `image_gradients=True` is quicker then. `ema_rate` is
    the paper's β: a number, of which 1 is no correction, or a schedule such as `ema_schedule(learning_rate)`.

    The default optimiser is Adam with a learning rate that falls by a factor of 1000 during the run, and `ema_rate`
    then follows the learning rate. With an optimiser of your own, `ema_rate` is 1 unless given.

    `orthonormal_pull` pulls u weakly towards v. `rescale` divides the residual of each function by a scale of the
    spectrum instead of L_kk, so that neither the unit nor the zero of the operator matters. Both keep Σ well
    conditioned and change no eigenfunction.

    >>> slow = optax.rmsprop(1e-5, decay=0.999)
    >>> paper = SpIN(slow, average="jacobian", ema_rate=0.01, orthonormal_pull=0.0, rescale=False)
    """

    optimizer: optax.GradientTransformation | None = eqx.field(static=True, default=None)
    average: Average = eqx.field(static=True, default="moments")
    ema_rate: float | Schedule | None = eqx.field(static=True, default=None)
    orthonormal_pull: float = eqx.field(static=True, default=0.1)
    rescale: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        if self.optimizer is not None:
            check_optimizer(self.optimizer)
        if self.average not in get_args(Average):
            raise ValueError(f"average must be 'moments' or 'jacobian'; got {self.average!r}")
        ema_rate = at_step(self.ema_rate, jnp.asarray(LAST_STEP), jnp.zeros((1, 1))).item()
        if not 0 < ema_rate <= 1:
            raise ValueError(f"ema_rate must be in (0, 1], 1 being no averaging; got {ema_rate}")
        decay = None if self.optimizer is None else second_moment_decay(self.optimizer)
        if decay is not None and 1 - decay > ema_rate * (1 + 1e-3):
            warnings.warn(
                f"the optimiser's second moment decays by {1 - decay:.3g} a step, faster than the covariance "
                f"average (ema_rate {ema_rate:.3g}), which the paper calls critical to avoid. Raise its decay to at "
                f"least {1 - ema_rate:.4g} (`decay` of rmsprop, `b2` of adam) or raise `ema_rate`",
                RuntimeWarning,
                stacklevel=3,
            )

    def resolved(self, problem: Problem) -> "SpIN":
        """The solver; if it has no optimiser, with the default one and an `ema_rate` that follows its learning rate."""
        if self.optimizer is not None:
            return self
        optimizer, ema_rate = _default_optimizer(self.total(problem, None))
        ema_rate = ema_rate if self.ema_rate is None else self.ema_rate
        return dataclasses.replace(self, optimizer=optimizer, ema_rate=ema_rate)

    @property
    def averages_from_the_start(self) -> bool:
        """Whether `ema_rate` is below one at the first step."""
        return starts_below_one(1.0 if self.ema_rate is None else self.ema_rate)

    def begin(self, network: Any, outputs: int) -> State:
        """The state before the first step: Σ̄ = I, all else zero."""
        state = super().begin(network, outputs)
        if self.average == "moments":
            return state
        leading = (outputs,) if is_separate(network) else (outputs, outputs)
        return state._replace(more=jac.zeros_like_jacobian(eqx.filter(network, eqx.is_inexact_array), *leading))

    def update(self, operator: Operator, state: State, batch: Batch) -> tuple[State, Info]:
        """One update of the averages, then of the network."""
        seen = evaluate(operator, state, batch, at_step(self.ema_rate, state.step, state.sigma))
        now, jacobian = seen.now, state.more
        size = spectral_size(jnp.diag(now.matrix)) if self.rescale else jnp.diag(now.cholesky)
        if self.average == "moments":
            v, r = residual(seen.u, seen.ku, now)
            gradient = seen.gradient(r / size + self.orthonormal_pull * (seen.u - v))
        else:
            now = quotient(seen.sigma, second_moment(seen.u, seen.ku, seen.weights))
            v, r = residual(seen.u, seen.ku, now)
            jacobian = optax.incremental_update(self._half_jacobian(seen, batch), jacobian, seen.ema_rate)
            gradient = self._averaged_gradient(seen, now, size, jacobian, seen.u - v)
        assert self.optimizer is not None, "filled in by `resolved`"
        network, memory, info = descend(self.optimizer, state.optimizer, seen, gradient, jnp.diag(now.matrix), r)
        return State(network, memory, seen.sigma, seen.pi, state.step + 1, jacobian), info

    def _half_jacobian(self, seen: Evaluated, batch: Batch) -> PyTree:
        if is_separate(seen.network):
            return jac.half_jacobian_separate(seen.pullback, seen.u, seen.weights)
        return jac.half_jacobian(seen.network, batch.x, seen.weights)

    def _averaged_gradient(
        self, seen: Evaluated, now: Quotient, size: Float[Array, " k"], half: PyTree, away: Float[Array, "b k"]
    ) -> PyTree:
        """Equation 17 of the paper, with Π and its Jacobian of the batch, and the averages of Σ and its Jacobian."""
        by_sigma, by_pi = masked_gradient_of_moments(now)
        scale = jnp.diag(now.cholesky) / size
        contract = jac.contract_separate if is_separate(seen.network) else jac.contract
        of_batch = seen.gradient(seen.ku @ (by_pi * scale) + self.orthonormal_pull * away)
        return jax.tree.map(jnp.add, of_batch, contract(by_sigma * scale, half))


@functools.cache
def _default_optimizer(steps: int) -> tuple[optax.GradientTransformation, Schedule]:
    """The default optimiser for so many steps, and an averaging rate that follows its learning rate.

    The same objects for every run: programs are compiled anew for functions that they have not seen.
    """
    learning_rate = optax.exponential_decay(3e-3, steps, 1e-3)
    return optax.adam(learning_rate), ema_schedule(learning_rate)

"""Spectral inference networks: the paper's Algorithm 1, and a version that averages two small matrices."""

import dataclasses
import warnings
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from eigenax.core import jacobian as jac
from eigenax.core.averages import moving_average
from eigenax.core.batch import Batch
from eigenax.core.rayleigh import (
    Quotient,
    masked_gradient_of_moments,
    quotient,
    residual,
    residual_norms,
    second_moment,
    spectral_size,
)
from eigenax.networks.base import is_separate
from eigenax.operators.base import Operator, applied
from eigenax.problem import Problem
from eigenax.solvers.gradient import GradientSolver, with_pullback
from eigenax.solvers.schedules import Schedule, following, second_moment_decay, starts_below_one

Average = Literal["moments", "jacobian"]
END_OF_TIME = 2**30
"""A step at which any schedule has reached its last value."""


class SpINState(NamedTuple):
    """What the next step needs."""

    network: Any
    optimizer: optax.OptState
    sigma: Float[Array, "k k"]
    """Σ̄, which starts at the identity."""
    pi: Float[Array, "k k"]
    """Π̄, which starts at the first batch's."""
    jacobian: PyTree
    """The half Jacobian of Σ̄ for `"jacobian"`, nothing for `"moments"`."""
    step: Int[Array, ""]


class SpINInfo(NamedTuple):
    """What a person needs."""

    eigenvalues: Float[Array, " k"]
    residuals: Float[Array, " k"]
    gradient_norm: Float[Array, ""]
    rate: Float[Array, ""]
    healthy: Bool[Array, ""]


class SpIN(GradientSolver):
    """Stochastic descent along the masked gradient, its bias corrected by moving averages.

    `average="moments"` averages Σ and Π and takes one backward pass; `"jacobian"` averages Σ and its Jacobian as the
    paper does, for the work of k² of them (a `Conv` wants `image_gradients=True` then). `rate` is the paper's β, a
    number (1 is no correction) or a schedule such as `following(learning_rate)`. Without an optimiser it is Adam, whose
    learning rate falls by a factor of 1000 in the course of the run, and `rate` follows that; with one it is 1. `gauge`
    pulls u weakly towards v, and `rescale` gives each function its residual in units of the spectrum instead of
    residual / L_kk, so that neither the unit nor the zero of the operator matters. Both keep Σ well conditioned and
    change no eigenfunction.

    >>> paper = SpIN(optax.rmsprop(1e-5, decay=0.999), average="jacobian", rate=0.01, gauge=0.0, rescale=False)
    """

    optimizer: optax.GradientTransformation | None = eqx.field(static=True, default=None)
    average: Average = eqx.field(static=True, default="moments")
    rate: float | Schedule | None = eqx.field(static=True, default=None)
    gauge: float = eqx.field(static=True, default=0.1)
    rescale: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        if not isinstance(self.optimizer, optax.GradientTransformation | None):
            raise TypeError(f"optimizer must be an optax optimiser such as optax.adam(1e-3); got {self.optimizer!r}")
        if self.average not in get_args(Average):
            raise ValueError(f"average must be 'moments' or 'jacobian'; got {self.average!r}")
        rate = jnp.asarray(_at(self.rate, jnp.asarray(END_OF_TIME))).item()
        if not 0 < rate <= 1:
            raise ValueError(f"rate must be in (0, 1], 1 being no averaging; got {rate}")
        decay = None if self.optimizer is None else second_moment_decay(self.optimizer)
        if decay is not None and 1 - decay > rate * (1 + 1e-3):
            warnings.warn(
                f"the optimiser's second moment decays by {1 - decay:.3g} a step, faster than the covariance "
                f"average (rate {rate:.3g}), which the paper calls critical to avoid. Raise its decay to at least "
                f"{1 - rate:.4g} (`decay` of rmsprop, `b2` of adam) or raise `rate`",
                RuntimeWarning,
                stacklevel=3,
            )

    def resolved(self, problem: Problem) -> "SpIN":
        """With an optimiser, and averages that follow its learning rate."""
        if self.optimizer is not None:
            return self
        learning_rate = optax.exponential_decay(3e-3, self.total(problem, None), 1e-3)
        rate = following(learning_rate) if self.rate is None else self.rate
        return dataclasses.replace(self, optimizer=optax.adam(learning_rate), rate=rate)

    @property
    def averages_from_the_start(self) -> bool:
        """Unless the first rate is one."""
        return starts_below_one(1.0 if self.rate is None else self.rate)

    def begin(self, network: Any, outputs: int) -> SpINState:
        """The state before the first step: Σ̄ = I, all else zero."""
        assert self.optimizer is not None, "filled in by `resolved`"
        parameters = eqx.filter(network, eqx.is_inexact_array)
        identity = jnp.eye(outputs, dtype=jax.tree.leaves(parameters)[0].dtype)
        jacobian = None
        if self.average == "jacobian":
            leading = (outputs,) if is_separate(network) else (outputs, outputs)
            jacobian = jac.zeros_like_jacobian(parameters, *leading)
        zero = jnp.zeros_like(identity)
        return SpINState(network, self.optimizer.init(parameters), identity, zero, jacobian, jnp.zeros((), jnp.int32))

    def update(self, operator: Operator, state: SpINState, batch: Batch) -> tuple[SpINState, SpINInfo]:
        """One update of the averages, then of the network."""
        assert self.optimizer is not None, "filled in by `resolved`"
        u, pullback = with_pullback(state.network, batch)
        ku = applied(operator, state.network, batch, u)
        weights = batch.weights
        sigma, pi = second_moment(u, u, weights), second_moment(u, ku, weights)
        rate = jnp.asarray(_at(self.rate, state.step), u.dtype)
        mean_sigma = moving_average(state.sigma, sigma, rate)
        mean_pi = moving_average(state.pi, pi, jnp.where(state.step == 0, 1, rate))
        now, jacobian = quotient(mean_sigma, mean_pi), state.jacobian
        size = spectral_size(jnp.diag(now.matrix)) if self.rescale else jnp.diag(now.cholesky)
        if self.average == "moments":
            gradient = pullback(self._cotangent(u, ku, weights, now, size))
        else:
            separate = is_separate(state.network)
            if separate:
                half = jac.half_jacobian_separate(pullback, u, weights)
            else:
                half = jac.half_jacobian(state.network, batch.x, weights)
            jacobian = moving_average(state.jacobian, half, rate)
            now = quotient(mean_sigma, pi)
            gradient = self._averaged_gradient(u, ku, weights, now, size, jacobian, pullback, separate)
        parameters = eqx.filter(state.network, eqx.is_inexact_array)
        updates, optimizer = self.optimizer.update(gradient, state.optimizer, parameters)
        network = eqx.apply_updates(state.network, updates)
        gradient_norm = optax.tree.norm(gradient)
        healthy = jnp.isfinite(gradient_norm) & jnp.isfinite(now.matrix).all()
        info = SpINInfo(jnp.diag(now.matrix), residual_norms(u, ku, weights, now), gradient_norm, rate, healthy)
        return SpINState(network, optimizer, mean_sigma, mean_pi, jacobian, state.step + 1), info

    def _cotangent(self, u: Array, ku: Array, weights: Array, now: Quotient, size: Array) -> Float[Array, "b k"]:
        v, r = residual(u, ku, now)
        return weights[:, None] * (r / size + self.gauge * (u - v)) / u.shape[0]

    def _averaged_gradient(
        self,
        u: Array,
        ku: Array,
        weights: Array,
        now: Quotient,
        size: Array,
        half: PyTree,
        pullback: Any,
        separate: bool,
    ) -> PyTree:
        """Equation 17 with the batch's Π and its Jacobian, and the averages of Σ and its Jacobian."""
        by_sigma, by_pi = masked_gradient_of_moments(now)
        scale = jnp.diag(now.cholesky) / size
        by_sigma, by_pi = by_sigma * scale, by_pi * scale
        v, _ = residual(u, ku, now)
        cotangent = weights[:, None] * (ku @ by_pi + self.gauge * (u - v)) / u.shape[0]
        contract = jac.contract_separate if separate else jac.contract
        return jax.tree.map(jnp.add, pullback(cotangent), contract(by_sigma, half))


def _at(rate: float | Schedule | None, step: Int[Array, ""]) -> float | Array:
    """A rate at a step; one, where there is none."""
    return jnp.asarray(rate(step)) if callable(rate) else 1.0 if rate is None else rate

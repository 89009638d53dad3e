"""Natural gradient descent: the functions move along minus the residual, as closely as the network can follow."""

import dataclasses
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Bool, Float, Int

from eigenax.checks import positive_int_or_none
from eigenax.core.batch import Batch
from eigenax.core.rayleigh import HIGHEST, quotient, residual, residual_norms, second_moment, spectral_size
from eigenax.measurement.measure import FRESH
from eigenax.networks.base import is_separate
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.samples import BATCHES
from eigenax.solvers.gauss_newton import RayleighGaussNewton
from eigenax.solvers.gradient import GradientSolver

BATCH = 256
"""Points of a batch unless their number is given."""
QUICK = 0.9
"""Decay of the quick average of log residuals; residuals fall where it is below the slow average."""
SLOW = 0.98
"""Decay of the slow average of log residuals."""
SHRINK = 0.98
"""The factor on the step scale at each step while residuals do not fall."""
LEAST_SCALE = 0.01
"""The least value of the step scale, which is one at first."""
CURVED = 0.3
"""The trust radius shrinks after a step whose nonlinear part exceeds this share of the linear one."""
STRAIGHT = 0.1
"""The trust radius may grow after a step whose nonlinear part is below this share of the linear one."""
FIRST_RADIUS = 0.1
"""The trust radius of the first step."""
LEAST_RADIUS = 1e-6
"""The least value of the trust radius."""


class NaturalState(NamedTuple):
    """What the next step needs. The parameters form g groups: one for each mode if they are separate, otherwise one."""

    network: Any
    before: Float[Array, "g p"]
    """The last step."""
    step_scale: Float[Array, ""]
    """The factor on all step sizes, which shrinks from one."""
    falling: Float[Array, " 2"]
    """A quick and a slow moving average of the mean logarithm of the residuals."""
    values: Float[Array, " k"]
    """The moving average of the Rayleigh quotients: the spectrum seen so far."""
    radius: Float[Array, " g"]
    """The trust radius: the longest step allowed."""
    step: Int[Array, ""]


class NaturalInfo(NamedTuple):
    """What is logged of a step, and whether it succeeded."""

    eigenvalues: Float[Array, " k"]
    residuals: Float[Array, " k"]
    rate: Float[Array, " k"]
    """τ, the step size of each function along minus its residual."""
    radius: Float[Array, " g"]
    curvature: Float[Array, " g"]
    """The nonlinear part of the last change of u, relative to the linear one."""
    healthy: Bool[Array, ""]
    """False if Λ or the direction of the step is not finite."""


class NaturalGradient(GradientSolver):
    """Natural gradient descent: on every batch, the step of the parameters that best moves u along minus the residual.

    The step δ minimises E[w |J δ − δu|²] + λ |δ − μ δ_before|², where J = ∂u/∂θ, `damping` λ is relative to the mean
    diagonal of the Gram matrix of J, and `momentum` is μ. The wanted change of the functions is
    δu_k = −τ_k L_kk r_k − orthonormal_pull (u_k − v_k), where the residual r_k uses the batch's own Λ, not symmetrised.
    Separate networks are solved mode by mode, a shared one at once, with the Gram matrix of the samples or of the
    parameters, whichever is smaller.

    No step size needs to be set by hand: τ comes from the spectrum seen so far and shrinks when the residuals no longer
    fall, and a trust radius keeps the steps so short that u is nearly linear in them.

    In many dimensions, where no network is given, `RayleighGaussNewton` takes its place with the same settings: steps
    that are explicit, as these are, have to be as short as the stiffest direction of the network demands.

    >>> NaturalGradient().momentum
    0.9
    """

    wants_separate: ClassVar[bool] = True

    batch: int | None = eqx.field(  # pyright: ignore[reportGeneralTypeIssues, reportIncompatibleVariableOverride]
        static=True, default=None, kw_only=True, converter=partial(positive_int_or_none, "batch")
    )
    """256 unless given; in many dimensions, chosen by the number of functions and the device."""
    samples: int | None = eqx.field(  # pyright: ignore[reportGeneralTypeIssues, reportIncompatibleVariableOverride]
        static=True, default=None, kw_only=True, converter=partial(positive_int_or_none, "samples", least=BATCHES)
    )
    """`FRESH` unless given; in many dimensions, chosen by the device."""
    damping: float = eqx.field(static=True, default=1e-3)
    momentum: float = eqx.field(static=True, default=0.9)
    orthonormal_pull: float = eqx.field(static=True, default=0.1)

    def __check_init__(self):
        if not self.damping > 0:
            raise ValueError(f"damping must be positive; got {self.damping}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1; got {self.momentum}")
        if not self.orthonormal_pull >= 0:
            raise ValueError(f"orthonormal_pull must be at least 0; got {self.orthonormal_pull}")

    @property
    def averages_from_the_start(self) -> bool:
        """False: Σ and Λ are those of each batch alone."""
        return False

    def resolved(self, problem: Problem) -> GradientSolver:
        """The same with the usual batch; in many dimensions, implicit steps."""
        if problem.network is None and problem.operator.local and self.wants_chains(problem):
            kept = ("batch", "samples", "precision", "log_every", "damping", "momentum")
            return RayleighGaussNewton(**{name: getattr(self, name) for name in kept}).resolved(problem)
        return dataclasses.replace(self, batch=self.batch or BATCH, samples=self.samples or FRESH)

    def begin(self, network: Any, outputs: int) -> NaturalState:
        """The state before the first step, with a previous step of zero."""
        theta = _Parameters(network).flat
        one, zeros = jnp.ones((), theta.dtype), jnp.zeros(outputs, theta.dtype)
        radius, step = jnp.full(len(theta), FIRST_RADIUS, theta.dtype), jnp.zeros((), jnp.int32)
        return NaturalState(network, jnp.zeros_like(theta), one, jnp.zeros(2, theta.dtype), zeros, radius, step)

    def update(self, operator: Operator, state: NaturalState, batch: Batch) -> tuple[NaturalState, NaturalInfo]:
        """Solve for a direction, and go along it within the trust radius."""
        parameters, weights = _Parameters(state.network), batch.weights
        u = jax.vmap(state.network)(batch.x)
        ku = operator.apply(state.network, batch, u)
        now = quotient(second_moment(u, u, weights), second_moment(u, ku, weights))
        v, r = residual(u, ku, now)
        seen, norms = jnp.diag(now.matrix), residual_norms(u, ku, weights, now)
        averaged: Any = optax.incremental_update(seen, state.values, 0.1)
        values = jnp.where(state.step == 0, seen, averaged)
        step_scale, falling = _next_scale(state, norms)
        rate = step_scale / spectral_size(values)
        target = -rate * jnp.diag(now.cholesky) * r - self.orthonormal_pull * (u - v)
        direction = self._solve(parameters, batch, target, state.before)
        taken = _take(parameters, state, batch, u, direction)
        healthy = jnp.isfinite(direction).all() & jnp.isfinite(now.matrix).all()
        info = NaturalInfo(seen, norms, rate, taken.radius, taken.curvature, healthy)
        network = parameters.network(parameters.flat + taken.step)
        return NaturalState(network, taken.step, step_scale, falling, values, taken.radius, state.step + 1), info

    def _solve(
        self,
        parameters: "_Parameters",
        batch: Batch,
        target: Float[Array, "b k"],
        before: Float[Array, "g p"],
    ) -> Float[Array, "g p"]:
        """Solve the damped least squares problem for each group of parameters."""
        root, groups = jnp.sqrt(batch.weights / len(batch.weights)), len(before)
        jacobian = parameters.jacobian(batch.x, target.shape[1])
        wanted = (root[:, None] * target).T
        # A constant first function has no parameters.
        wanted = wanted[-groups:] if parameters.separate else wanted.reshape(1, -1)
        rows = jnp.tile(root, wanted.shape[1] // len(root))

        def one(jacobian: Array, wanted: Array, before: Array) -> Array:
            start = self.momentum * before
            a = rows[:, None] * jacobian
            missing = wanted - jnp.matmul(a, start, precision=HIGHEST)
            return start + _least_squares(a, missing, self.damping)

        return jax.vmap(one)(jacobian, wanted, before)


def _least_squares(a: Float[Array, "m p"], b: Float[Array, " m"], damping: float) -> Float[Array, " p"]:
    """Argmin |a x − b|² + λ |x|², with the smaller of the Gram matrices a aᵀ and aᵀ a.

    `damping` is λ in units of the mean diagonal of a aᵀ.
    """
    rows, columns = a.shape
    damped = damping * jnp.sum(a**2) / rows + jnp.finfo(a.dtype).tiny
    if rows <= columns:
        gram = jnp.matmul(a, a.T, precision=HIGHEST) + damped * jnp.eye(rows, dtype=a.dtype)
        return jnp.matmul(a.T, cho_solve(cho_factor(gram, lower=True), b), precision=HIGHEST)
    gram = jnp.matmul(a.T, a, precision=HIGHEST) + damped * jnp.eye(columns, dtype=a.dtype)
    return cho_solve(cho_factor(gram, lower=True), jnp.matmul(a.T, b, precision=HIGHEST))


class _Parameters:
    """The parameters of a network as an array (g, p): one row for each mode of a separate network, otherwise one."""

    def __init__(self, network: Any):
        arrays, self.static = eqx.partition(network, eqx.is_inexact_array)
        self.separate = is_separate(network)
        if self.separate:
            one = jax.tree.map(lambda leaf: leaf[0], arrays)
            self.flat = jax.vmap(lambda tree: ravel_pytree(tree)[0])(arrays)
        else:
            one, self.flat = arrays, ravel_pytree(arrays)[0][None]
        self.unravel = ravel_pytree(one)[1]

    def network(self, theta: Float[Array, "g p"]) -> Any:
        """The network with these parameters."""
        arrays = jax.vmap(self.unravel)(theta) if self.separate else self.unravel(theta[0])
        return eqx.combine(arrays, self.static)

    def jacobian(self, x: Float[Array, "b ..."], outputs: int) -> Float[Array, "g m p"]:
        """∂u/∂θ at all points: m = b rows for each mode, or m = k b rows for all at once, mode by mode.

        Each function of a separate network has its own parameters, so that one backward pass through the sum of all
        functions gives every row.
        """
        if self.separate:
            each = jax.vmap(jax.grad(lambda theta, x: self.network(theta)(x).sum()), in_axes=(None, 0))(self.flat, x)
            return jnp.moveaxis(each, 1, 0)
        rows = jax.vmap(jax.jacrev(lambda theta, x: self.network(theta)(x)), in_axes=(None, 0))(self.flat, x)
        return jnp.moveaxis(rows, 1, 0).reshape(1, outputs * len(x), -1)


def _next_scale(state: NaturalState, norms: Float[Array, " k"]) -> tuple[Float[Array, ""], Float[Array, " 2"]]:
    """The next step scale, and the averages of the residuals.

    The scale shrinks while the quick average is no lower than the slow one: what is left of residuals then is noise.
    """
    seen = jnp.mean(jnp.log(norms + jnp.finfo(norms.dtype).tiny))
    keep = jnp.asarray([QUICK, SLOW], norms.dtype)
    falling = jnp.where(state.step == 0, seen, keep * state.falling + (1 - keep) * seen)
    stalled = falling[0] > falling[1] - 0.02
    return jnp.where(stalled, jnp.maximum(SHRINK * state.step_scale, LEAST_SCALE), state.step_scale), falling


class _Taken(NamedTuple):
    step: Float[Array, "g p"]
    radius: Float[Array, " g"]
    curvature: Float[Array, " g"]


def _take(
    parameters: _Parameters, state: NaturalState, batch: Batch, u: Float[Array, "b k"], direction: Float[Array, "g p"]
) -> _Taken:
    """Go along a direction as far as the trust radius allows, and update the radius by how nonlinear u is.

    No step is taken where the nonlinear part of the change of u is as large as the linear one.
    """
    length = jnp.linalg.norm(direction, axis=1)
    tiny = jnp.finfo(length.dtype).tiny
    step = direction * jnp.minimum(1, state.radius / jnp.maximum(length, tiny))[:, None]

    def values(theta: Array) -> Array:
        return jax.vmap(parameters.network(theta))(batch.x)

    _, linear = jax.jvp(values, (parameters.flat,), (step,))
    nonlinear = values(parameters.flat + step) - u - linear
    weights = batch.weights[:, None] / jnp.diag(second_moment(u, u, batch.weights))

    def size(change: Array) -> Array:
        squares = jnp.mean(weights * change**2, 0)
        return jnp.sqrt(squares[-len(length) :] if parameters.separate else squares.sum(keepdims=True))

    curvature = size(nonlinear) / jnp.maximum(size(linear), tiny)
    moved = jnp.minimum(length, state.radius)
    longer = jnp.maximum(state.radius, jnp.minimum(2 * length, 1.2 * state.radius))
    radius = jnp.where(curvature > CURVED, 0.7 * moved, jnp.where(curvature < STRAIGHT, longer, state.radius))
    step = jnp.where((curvature < 1)[:, None], step, 0)
    return _Taken(step, jnp.maximum(radius, LEAST_RADIUS), curvature)

"""Rayleigh–Gauss–Newton: all states at once, by implicit steps of imaginary time."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from eigenax.checks import positive_int_or_none
from eigenax.core.batch import Batch, Points
from eigenax.core.rayleigh import HIGHEST
from eigenax.core.ritz import distance_to_exact
from eigenax.core.tangent import Span, span_of, tangent
from eigenax.measurement.measure import FRESH
from eigenax.measurement.solution import Solution
from eigenax.modes import Modes
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.samples import BATCHES
from eigenax.solvers.base import Info
from eigenax.solvers.gradient import GradientSolver, TrainingState
from eigenax.solvers.many_dims import walkers_can_tell
from eigenax.solvers.span_measurement import measured_on, slopes_of_values
from eigenax.stop_reason import StopReason

ROWS = {"cpu": 2**13}
"""Values of functions in a batch, by device, unless its size is given."""
OTHER_ROWS = 2**16
"""The same for all other devices."""
SAMPLES = {"cpu": 2**15}
"""Points that results are measured on, by device, unless their number is given; `FRESH` on all other devices."""
LEAST_BATCH, MOST_BATCH = 256, 8192
"""Limits of the batch that is chosen."""
FACTORS = (1.0, 0.25, 0.0625)
"""A step that is too nonlinear is tried again at these lengths."""
NONLINEAR = 0.3
"""A step is too nonlinear if the change of the functions is off what was predicted by more than this share of it."""
BLOCK = 25
"""Steps over which the logarithms of the residuals are averaged, to tell whether they still fall."""
SURE = 1.0
"""Residuals no longer fall if their block mean fell by less than this many of its standard errors."""
SHRINK = 0.5
"""The factor on the length of all steps when residuals no longer fall."""
FIRST_SCALE = 0.5
"""The first factor on the length of steps: whole steps would add as much noise as they remove error."""
LEAST_SCALE = 0.04
"""Training has stalled when the factor is below this."""
PRECISE = 0.1
"""Training ends when ‖r‖², over the range of the values, is less than this share of the rounding of the values."""
TRAIL = 32
"""Values and squared residuals are kept at this many steps, each √2 times as late as the one before."""
FIRST_KEPT = 8
"""The first of these steps."""
AVERAGED = 0.9
"""The decay of the averages of values and squared residuals that are kept."""
OUTLIER = 2.0
"""A batch whose squared residuals are more than this many times their average does not lengthen the step further."""
WARM_UP = 8
"""Batches whose S + τ H are averaged before the first step."""
POLYAK = 30
"""The number of steps that parameters are averaged over (Polyak averaging)."""
DEFAULT_STEPS = 300
"""The number of steps unless `max_steps` is given."""


class Progress(NamedTuple):
    """How residuals have fallen."""

    scale: Float[Array, ""]
    """The factor on the length of all steps."""
    sums: Float[Array, " 3"]
    """Number, sum and sum of squares of the mean log residuals of this block."""
    before: Float[Array, " 2"]
    """Mean and squared standard error of the block before."""
    averages: Float[Array, "2 k"]
    """Moving averages of the values and of the squared residuals."""
    trail: Float[Array, "t 2 k"]
    """These averages at a few steps, NaN for those to come."""


class GaussNewtonState(NamedTuple):
    """What the next step needs."""

    network: Any
    averaged: Any
    """The network with moving averages of the parameters, which results are measured with: gradients are noisy."""
    metric: Float[Array, "p p"]
    """The moving average of S + τ H."""
    progress: Progress
    step: Int[Array, ""]


class GaussNewtonInfo(NamedTuple):
    """What is logged of a step, and whether it succeeded."""

    eigenvalues: Float[Array, " k"]
    residuals: Float[Array, " k"]
    change: Float[Array, ""]
    """The root mean square change of the functions that a whole step would make."""
    step_scale: Float[Array, ""]
    healthy: Bool[Array, ""]


class RayleighGaussNewton(GradientSolver):
    """Rayleigh–Gauss–Newton: on every batch, an implicit step of imaginary time, for all states of a shared network.

    The step δ of the parameters solves (S + τ H + damping) δ = −τ g, where S is the Gram matrix of the tangents ∂u/∂θ
    outside the span of the functions, H the operator between them, and g the residuals along them; see
    `eigenax.core.tangent`. The imaginary time τ is `time` over the range of the values found. `damping` is relative to
    the diagonal of S. S + τ H is a moving average over batches, of decay `momentum`. A
    step changes the functions by at most the share `trust`, and gets shorter when residuals no longer fall.

    It trains the sum of all eigenvalues, with a final rotation: the order of the functions is found in the end. The
    residuals of functions that are mixed inside their span do not hinder each other, which the masked gradient of the
    paper cannot avoid. Of the functions, `spare` more than asked for are trained if no network is given, so that the
    next value is known and nearly equal states do not compete for the last place.

    In many dimensions, where no network is given, it takes an `Ansatz` and points of `MarkovChains`.

    >>> RayleighGaussNewton().time
    3.0
    """

    divergence_hint: ClassVar[str] = (
        "the functions have become linearly dependent or not finite; take a smaller trust=…, or a larger batch"
    )

    batch: int | None = eqx.field(  # pyright: ignore[reportGeneralTypeIssues, reportIncompatibleVariableOverride]
        static=True, default=None, kw_only=True, converter=partial(positive_int_or_none, "batch")
    )
    """Chosen by the number of functions and the device unless given."""
    samples: int | None = eqx.field(  # pyright: ignore[reportGeneralTypeIssues, reportIncompatibleVariableOverride]
        static=True, default=None, kw_only=True, converter=partial(positive_int_or_none, "samples", least=BATCHES)
    )
    """Chosen by the device unless given."""
    time: float = eqx.field(static=True, default=3.0)
    damping: float = eqx.field(static=True, default=1e-3)
    momentum: float = eqx.field(static=True, default=0.9)
    trust: float = eqx.field(static=True, default=0.1)
    spare: int = eqx.field(static=True, default=2)  # pyright: ignore[reportIncompatibleVariableOverride]

    def __check_init__(self):
        for name in ("time", "damping", "trust"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive; got {getattr(self, name)}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be at least 0 and below 1; got {self.momentum}")
        if self.spare < 0:
            raise ValueError(f"spare must be at least 0; got {self.spare}")

    @property
    def averages_from_the_start(self) -> bool:
        """False: Σ and Λ are those of each batch alone."""
        return False

    def why_not(self, problem: Problem) -> str | None:
        """Refuse operators that are not local, whose K u at a point is not a function of that point alone."""
        if not problem.operator.local:
            return (
                "RayleighGaussNewton differentiates K u at single points, and the operator is not local: take "
                "NaturalGradient() or SpIN()"
            )
        return super().why_not(problem)

    def resolved(self, problem: Problem) -> "RayleighGaussNewton":
        """The same solver with a batch for this many functions."""
        if self.batch is not None:
            return self
        rows = ROWS.get(jax.default_backend(), OTHER_ROWS) // (problem.n + self.spare)
        return dataclasses.replace(self, batch=int(np.clip(2 ** int(np.log2(rows)), LEAST_BATCH, MOST_BATCH)))

    def wants_chains(self, problem: Problem) -> bool:
        """Where no network is given, in any number of dimensions."""
        return super().wants_chains(problem) or (problem.network is None and walkers_can_tell(problem))

    def measured(self, problem: Problem, state: TrainingState) -> Modes:
        """Measure the span of all functions on fresh points, of chains if it was trained on chains."""
        network, progress = state.solver.averaged, state.solver.progress
        trail, values = np.asarray(progress.trail, np.float64), np.asarray(progress.averages[0], np.float64)

        def errors(found: Solution) -> Float[np.ndarray, " n"]:
            slopes = slopes_of_values(trail[:, 0], trail[:, 1], found.residuals**2)
            most = distance_to_exact(found.values, found.residuals, found.next_value)
            return np.fmin(slopes * found.residuals**2, most)

        return measured_on(
            problem,
            network,
            self.measured_source(problem, state, network),
            errors,
            samples=self.samples or SAMPLES.get(jax.default_backend(), FRESH),
            precision=self.precision,
            near=problem.sign * float(values.mean()),
        )

    def begin(self, network: Any, outputs: int) -> GaussNewtonState:
        """The state before the first step."""
        theta = _flat(network)[0]
        zeros = jnp.zeros((2, outputs), theta.dtype)
        progress = Progress(
            jnp.asarray(FIRST_SCALE, theta.dtype),
            jnp.zeros(3, theta.dtype),
            jnp.asarray([jnp.inf, 0.0], theta.dtype),
            zeros,
            jnp.full((TRAIL, *zeros.shape), jnp.nan, theta.dtype),
        )
        return GaussNewtonState(
            network, network, jnp.zeros((len(theta), len(theta)), theta.dtype), progress, jnp.zeros((), jnp.int32)
        )

    def update(
        self, operator: Operator, state: GaussNewtonState, batch: Batch
    ) -> tuple[GaussNewtonState, GaussNewtonInfo]:
        """Solve for the step of the parameters, and take as much of it as is trusted."""
        theta, network_of = _flat(state.network)

        def u_and_ku(theta: Array, x: Array) -> Array:
            u = network_of(theta)(x)[None]
            ku = operator.apply(network_of(theta), Points(x[None], jnp.ones(1, x.dtype)), u)
            return jnp.concatenate([u[0], ku[0]])

        u, ku = jnp.split(jax.lax.map(lambda x: u_and_ku(theta, x), batch.x, batch_size=512), 2, axis=1)
        span = span_of(u, ku, batch.weights)
        parts = tangent(u_and_ku, theta, batch.x, batch.weights, span)
        tau = self.time / _range_of(span.values)
        metric = parts.metric + tau * parts.curvature
        share = jnp.maximum(1 / (state.step + 1), 1 - self.momentum).astype(theta.dtype)
        metric = (1 - share) * state.metric + share * metric
        squares = jnp.mean(batch.weights[:, None] * span.residual**2, 0)
        damping = self.damping * jnp.mean(jnp.diag(parts.metric))
        direction = -tau * _positive_solve(metric, damping, parts.gradient)
        moved = jnp.matmul(parts.metric, direction, precision=HIGHEST)
        change = jnp.sqrt(jnp.maximum(direction @ moved, jnp.finfo(theta.dtype).tiny) / len(span.values))
        progress = self._after(state, span.values, squares)
        # As H is positive, an exact implicit step changes functions by at most τ ‖r‖: more is noise of S + τ H.
        usual = jnp.minimum(jnp.mean(squares), OUTLIER * jnp.mean(progress.averages[1]))
        longest = jnp.minimum(self.trust, tau * jnp.sqrt(usual))
        step = direction * jnp.minimum(1, longest / change) * progress.scale * (state.step >= WARM_UP)
        step = step * _straight_share(network_of, theta, step, batch, span)
        # A direction that is not finite is skipped: the next batch has another one.
        theta = jnp.where(jnp.isfinite(step).all(), theta + step, theta)
        network = network_of(theta)
        before = _flat(state.averaged)[0]
        share = jnp.maximum(1 / (state.step + 1), 1 / POLYAK)
        averaged = network_of(before + share.astype(theta.dtype) * (theta - before))
        metric = jnp.where(jnp.isfinite(metric).all(), metric, state.metric)
        info = GaussNewtonInfo(
            span.values,
            jnp.sqrt(progress.averages[1]),
            change,
            progress.scale,
            jnp.isfinite(span.values).all(),
        )
        return GaussNewtonState(network, averaged, metric, progress, state.step + 1), info

    def _after(self, state: GaussNewtonState, values: Float[Array, " k"], squares: Float[Array, " k"]) -> Progress:
        """The progress after one more batch."""
        now, old, step = jnp.stack([values, squares]), state.progress, state.step
        averages = jnp.where(step == 0, now, AVERAGED * old.averages + (1 - AVERAGED) * now)
        place = 2 * jnp.log2(jnp.maximum(step, 1) / FIRST_KEPT)
        kept = jnp.clip(jnp.round(place).astype(int), 0, TRAIL - 1)
        trail = old.trail.at[kept].set(jnp.where(place >= 0, averages, old.trail[kept]))
        logs = jnp.mean(jnp.log(squares + jnp.finfo(squares.dtype).tiny)) / 2
        count, total, total_squares = old.sums + jnp.stack([jnp.ones_like(logs), logs, logs**2])
        mean = total / count
        error = jnp.maximum(total_squares / count - mean**2, 0) / count
        full = count >= BLOCK
        falls = mean < old.before[0] - SURE * jnp.sqrt(error + old.before[1])
        scale = jnp.where(full & ~falls, SHRINK * old.scale, old.scale)
        sums = jnp.where(full, 0, jnp.stack([count, total, total_squares]))
        return Progress(scale, sums, jnp.where(full, jnp.stack([mean, error]), old.before), averages, trail)

    def step(self, problem: Problem, state: TrainingState, key: PRNGKeyArray) -> tuple[TrainingState, Info]:
        """A chunk of updates; training has stalled when residuals have stopped falling whatever the step length."""
        state, info = super().step(problem, state, key)
        if info.failure:
            return state, info
        progress = state.solver.progress
        values, squares = np.asarray(progress.averages, np.float64)
        resolved = squares.max() < PRECISE * np.finfo(self.precision).eps * np.abs(values).max() * np.ptp(values)
        stalled = resolved or float(progress.scale) < LEAST_SCALE
        return state, info._replace(finished=info.finished or (StopReason.STALLED if stalled else None))

    def total(self, problem: Problem, state: Any) -> int:
        """The number of updates: `max_steps`, or the default."""
        return problem.max_steps or DEFAULT_STEPS


def _positive_solve(matrix: Float[Array, "p p"], damping: Array, right: Float[Array, " p"]) -> Float[Array, " p"]:
    """(matrix + λ)⁻¹ right with the least of λ = damping, 10 damping, 100 damping … that makes the matrix positive.

    On a batch, τ H may have negative directions, along which a step would go up.
    """
    unit = jnp.eye(len(right), dtype=right.dtype)

    def failed(tried: tuple[Array, Array]) -> Array:
        damping, cholesky = tried
        return ~jnp.isfinite(cholesky[-1, -1]) & (damping < jnp.trace(matrix))

    def with_more(tried: tuple[Array, Array]) -> tuple[Array, Array]:
        damping = 10 * tried[0]
        return damping, jnp.linalg.cholesky(matrix + damping * unit)

    first = damping, jnp.linalg.cholesky(matrix + damping * unit)
    _, cholesky = jax.lax.while_loop(failed, with_more, first)
    return jax.scipy.linalg.cho_solve((cholesky, True), right)


def _straight_share(
    network_of: Callable[[Array], Any], theta: Array, step: Array, batch: Batch, span: Span
) -> Float[Array, ""]:
    """The largest of `FACTORS` at which the functions still change by about what their derivatives tell; or zero."""

    def values(theta: Array) -> Array:
        return jnp.matmul(jax.vmap(network_of(theta))(batch.x), span.matrix.T, precision=HIGHEST)

    def off(factor: Array) -> Array:
        nonlinear = values(theta + factor * step) - span.v - factor * linear
        return jnp.sum(weights * nonlinear**2) / jnp.maximum(factor**2 * size, jnp.finfo(theta.dtype).tiny)

    _, linear = jax.jvp(values, (theta,), (step,))
    weights = batch.weights[:, None]
    size = jnp.sum(weights * linear**2)
    factors = jnp.asarray(FACTORS, theta.dtype)
    fine = jax.lax.map(off, factors) < NONLINEAR**2
    return jnp.max(jnp.where(fine, factors, 0))


def _range_of(values: Float[Array, " k"]) -> Float[Array, ""]:
    """The range of the values, the unit of imaginary time; of a single value, its modulus."""
    size = values[-1] - values[0] if len(values) > 1 else jnp.abs(values[0])
    return jnp.maximum(size, 1e-3 * jnp.max(jnp.abs(values)) + jnp.finfo(values.dtype).tiny)


def _flat(network: Any) -> tuple[Float[Array, " p"], Any]:
    """All parameters of a network as one vector, and the network as a function of them."""
    arrays, static = eqx.partition(network, eqx.is_inexact_array)
    theta, unravel = ravel_pytree(arrays)
    return theta, lambda theta: eqx.combine(unravel(theta), static)

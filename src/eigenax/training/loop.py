"""The loop: a compiled scan over chunks of steps, with callbacks between chunks."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.batch import effective_share
from eigenax.core.precision import full_precision
from eigenax.errors import DivergedError, InterruptedRun
from eigenax.operators.base import Operator
from eigenax.solvers.base import Solver
from eigenax.sources.base import Source
from eigenax.training.interrupt import deferred_interrupt
from eigenax.training.state import RunState
from eigenax.training.stopping import REASONS, follow, why_stop_training


class Moment(NamedTuple):
    """What callbacks see: once before the first chunk, with no metrics, and after each chunk."""

    step: int
    steps: int
    seconds: float
    """Of training so far, earlier sessions of the run included, compilation left out."""
    compile_seconds: float
    metrics: dict[str, Any]
    """The steps' info averaged over the chunk, as numbers and lists."""
    state: RunState
    stopped: str = ""
    """Why training ended, once it has."""


Callback = Callable[[Moment], None]


def start(solver: Solver, network: Any, outputs: int, seed: int) -> RunState:
    """The state before the first step."""
    key = jax.random.key_data(jax.random.fold_in(jax.random.key(seed), 1))
    return RunState(
        solver.init(network, outputs),
        key,
        jnp.zeros((), jnp.int32),
        jnp.asarray([jnp.inf, 0.0]),
        jnp.zeros((), jnp.int32),
    )


def train(
    solver: Solver,
    operator: Operator,
    source: Source,
    state: RunState,
    *,
    steps: int,
    batch: int,
    log_every: int,
    tolerance: float | None = None,
    sign: float = 1.0,
    seconds: float = 0.0,
    compile_seconds: float = 0.0,
    callbacks: Sequence[Callback] = (),
) -> Moment:
    """Run until `steps`, or until the residuals say to stop, and return the last moment.

    `seconds` are those of earlier sessions.

    Eigenvalues descend, and are shown times `sign`. A step is traced once for the whole run, and its key depends
    on the run's key and the step alone.
    Raises `DivergedError`, which keeps the last good moment, and `InterruptedRun` on Ctrl-C.
    """
    arrays, static = eqx.partition(state, eqx.is_array)
    chunk, compiled = _chunk(solver, operator, static, batch), {}
    moment = Moment(int(state.step), steps, seconds, compile_seconds, {}, state, REASONS[int(state.ended)])
    for callback in callbacks:
        callback(moment)
    with deferred_interrupt() as interrupt:
        while not moment.stopped and moment.step < steps:
            began, length = time.perf_counter(), min(log_every, steps - moment.step)
            if length not in compiled:
                with full_precision():
                    compiled[length] = jax.jit(chunk, static_argnums=2).lower(arrays, source, length).compile()
            compiling = time.perf_counter() - began
            after, (infos, shares) = jax.block_until_ready(compiled[length](arrays, source))
            _raise_if_diverged(infos, moment, solver.trouble)
            reached, metrics = moment.step + length, _averaged(infos, shares, sign)
            residuals = np.asarray(metrics.get("residuals", [np.inf]))
            lowest = follow(np.asarray(after.lowest), residuals, reached)
            stopped = why_stop_training(lowest, residuals, tolerance, reached, steps, operator.local)
            arrays = after._replace(
                lowest=jnp.asarray(lowest, after.lowest.dtype),
                ended=jnp.asarray(REASONS.index(stopped), jnp.int32),
            )
            moment = Moment(
                reached,
                steps,
                moment.seconds + time.perf_counter() - began - compiling,
                moment.compile_seconds + compiling,
                metrics,
                eqx.combine(arrays, static),
                stopped,
            )
            for callback in callbacks:
                callback(moment)
            if interrupt.requested:
                raise InterruptedRun(f"stopped at step {moment.step} of {steps}", moment)
    return moment


def _chunk(solver: Solver, operator: Operator, static: RunState, batch: int) -> Callable[..., tuple[RunState, Any]]:
    """Several steps of the arrays of a state, as one function to compile."""

    @jax.jit
    def step(arrays: RunState, source: Source) -> tuple[RunState, Any]:
        now: RunState = eqx.combine(arrays, static)
        key = jax.random.fold_in(jax.random.wrap_key_data(now.key), now.step)
        drawn = source.sample_for(now.solver.network, key, batch)
        solver_state, info = solver.step(operator, now.solver, drawn)
        after = eqx.filter(now._replace(solver=solver_state, step=now.step + 1), eqx.is_array)
        return after, (info, effective_share(drawn.weights))

    def chunk(arrays: RunState, source: Source, length: int) -> tuple[RunState, Any]:
        return jax.lax.scan(lambda carry, _: step(carry, source), arrays, length=length)

    return chunk


def _averaged(infos: Any, shares: Float[Array, " steps"], sign: float) -> dict[str, Any]:
    fields = infos._asdict() | {"effective_samples": shares}
    del fields["healthy"]
    if "eigenvalues" in fields:
        fields["eigenvalues"] = sign * fields["eigenvalues"]
    return {name: np.asarray(value, np.float64).mean(0).tolist() for name, value in fields.items()}


def _raise_if_diverged(infos: Any, before: Moment, trouble: str) -> None:
    healthy = np.asarray(infos.healthy)
    if healthy.all():
        return
    raise DivergedError(
        f"training diverged at step {before.step + int(np.argmin(healthy))}: {trouble}. The state of step "
        f"{before.step} is the last good one",
        before,
    )

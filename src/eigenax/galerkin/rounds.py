"""Rounds of a Rayleigh–Ritz method, each with more waves, drawn where the states of the round before are."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.batch import effective_share
from eigenax.core.precision import counting_in, full_precision
from eigenax.errors import InterruptedRun
from eigenax.galerkin.cloud import CLOUD, Cloud, everywhere, of_ground_state, source_around, waves_around
from eigenax.galerkin.walkers import walk
from eigenax.measurement import measure
from eigenax.modes import Modes, Which
from eigenax.operators.base import Operator
from eigenax.operators.laplacian import Laplacian
from eigenax.solvers.galerkin import Galerkin
from eigenax.sources.base import Source
from eigenax.sources.box import Box
from eigenax.training.interrupt import deferred_interrupt
from eigenax.training.loop import Callback, Moment
from eigenax.training.state import RunState
from eigenax.training.stopping import why_stop


@dataclasses.dataclass(frozen=True)
class Problem:
    """What the rounds solve, and with how much."""

    operator: Operator
    domain: Source
    n: int
    which: Which
    seed: int
    samples: int | None
    solver: Galerkin


class GalerkinState(NamedTuple):
    """What the last round began with, so that it can be done again: where it looked, and how good the one before
    was."""

    cloud: Cloud
    residuals: Float[Array, " n"]


def start(problem: Problem) -> RunState:
    """The state before the first round: walkers have looked for the ground state."""
    key = jax.random.key_data(jax.random.fold_in(jax.random.key(problem.seed), 1))
    cloud = first_cloud(problem.operator, problem.domain, problem.which, problem.seed)
    with counting_in("float64"):
        state = GalerkinState(Cloud(*map(jnp.asarray, cloud)), jnp.full(problem.n, jnp.inf))
        none = jnp.zeros((), jnp.int32)
        return RunState(state, key, none, jnp.asarray([jnp.inf, 0.0]), none)


def run_rounds(
    problem: Problem,
    state: RunState,
    *,
    steps: int,
    tolerance: float | None,
    seconds: float = 0.0,
    callbacks: Sequence[Callback] = (),
) -> Modes:
    """Round after round until the residuals are small enough or fall no more, or `steps` are done.

    A state that comes from a checkpoint has had its round; it is done again, to the same bits, for its modes.
    """
    done, cloud = int(state.step), Cloud(*(np.asarray(part) for part in state.solver.cloud))
    residuals = np.asarray(state.solver.residuals)
    moment = Moment(done, steps, seconds, 0.0, {}, state)
    with deferred_interrupt() as interrupt:
        while True:
            began, again = time.perf_counter(), moment.step == done > 0
            number = moment.step if again else moment.step + 1
            modes, source = _round(problem, cloud, number)
            with counting_in("float64"):
                begun = GalerkinState(Cloud(*map(jnp.asarray, cloud)), jnp.asarray(residuals))
                state = state._replace(solver=begun, step=jnp.asarray(number, jnp.int32))
            elapsed = 0.0 if again else time.perf_counter() - began
            moment = Moment(number, steps, moment.seconds + elapsed, 0.0, _metrics(problem, modes, source), state)
            for callback in () if again else callbacks:
                callback(moment)
            growing = problem.solver.grows(number - 1, problem.n)
            stopped = why_stop(residuals, modes.residuals, tolerance, growing=growing, last=number >= steps)
            if stopped:
                return dataclasses.replace(modes, stopped=stopped)
            if interrupt.requested:
                raise InterruptedRun(f"stopped at step {number} of {steps}", moment)
            cloud, residuals, done = _cloud_of(problem, modes, source), modes.residuals, 0


def _round(problem: Problem, cloud: Cloud, number: int) -> tuple[Modes, Source]:
    """One Rayleigh–Ritz solution, and the source it was measured on."""
    p, singularities = problem, problem.operator.singularities()
    source = source_around(cloud, p.domain, singularities)
    waves = p.solver.count(number - 1, p.n)
    with counting_in("float64"):
        network = waves_around(cloud, p.domain, singularities, p.n, waves, p.seed)
    modes = measure(
        network,
        _nested(p.operator),
        source,
        n=p.n,
        which=p.which,
        finish="ritz",
        samples=p.samples or p.solver.samples(waves),
        seed=p.seed,
        steps=number,
    )
    return modes, source


def _nested(operator: Operator) -> Operator:
    """The same operator by nested derivatives, which take a third of the time for waves: they are wide, not deep."""

    def is_forward(part: Any) -> bool:
        return isinstance(part, Laplacian) and part.method == "forward"

    return jax.tree.map(lambda part: Laplacian("exact") if is_forward(part) else part, operator, is_leaf=is_forward)


def _metrics(problem: Problem, modes: Modes, source: Source) -> dict[str, Any]:
    with counting_in("float64"):
        share = float(effective_share(source.sample(jax.random.key(problem.seed), CLOUD).weights))
    return {
        "eigenvalues": modes.eigenvalues.tolist(),
        "residuals": modes.residuals.tolist(),
        "standard_errors": modes.standard_errors.tolist(),
        "waves": modes.coefficients.shape[0],
        "effective_samples": share,
    }


def first_cloud(operator: Operator, domain: Source, which: Which, seed: int) -> Cloud:
    """Where walkers find the ground state of a local operator on a box; others' states could be anywhere."""
    if not (isinstance(domain, Box) and operator.local):
        with counting_in("float64"):
            return everywhere(domain)
    sign = 1.0 if which == "smallest" else -1.0
    key = jax.random.fold_in(jax.random.key(seed), 5)
    return of_ground_state(*walk(sign * operator, domain, key, CLOUD))


def _cloud_of(problem: Problem, modes: Modes, source: Source) -> Cloud:
    """Points with the probabilities of the ground state and of all modes, and how fast these change there."""

    def at_point(x: Array) -> tuple[Array, Array]:
        v, slopes = modes.at_point(x), jax.jacfwd(modes.at_point)(x)
        return v, slopes.T @ slopes

    with counting_in("float64"), full_precision():
        batch = source.spread(jax.random.fold_in(jax.random.key(problem.seed), 6), CLOUD)
        values = jax.jit(lambda x: jax.lax.map(at_point, x, batch_size=256))(batch.x)
    (v, slopes), weights = map(np.asarray, values), np.asarray(batch.weights)[:, None]
    each = weights * v**2
    totals = each.sum(0)
    shares = each / totals
    return Cloud(np.asarray(batch.x), shares[:, 0], shares.mean(1), weights[:, :, None] * slopes / totals.sum())

"""Solvers that train: settings that make no sense, when they stop, and what a new one has to write."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import eigenax as ex
from eigenax.assemble import prepared
from eigenax.core.rayleigh import quotient, residual_norms, second_moment
from eigenax.driver.iterate import iterate
from eigenax.solvers.default_parts import network_key
from eigenax.solvers.schedules import ema_schedule
from eigenax.solvers.stalling import LEAST_PATIENCE

BOX = ex.Box(-1, 1, dims=1)
SLOPE = ex.Potential(lambda x: x[0])


def network(n=2, **options):
    return ex.MLP(1, n, width=8, depth=1, key=network_key(0), **options)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("kind", [ex.SpIN, ex.NaturalGradient])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch": -1}, "batch must be a whole number of at least 1; got -1"),
        ({"batch": 2.5}, "batch must be a whole number of at least 1; got 2.5"),
        ({"samples": 0}, "samples must be a whole number of at least 64; got 0"),
        ({"log_every": 0}, "log_every must be a whole number of at least 1; got 0"),
        ({"finish": "none"}, "finish must be 'eigh' or 'cholesky' or 'ritz'; got 'none'"),
        ({"precision": "float16"}, "precision must be 'float32' or 'float64'; got 'float16'"),
    ],
)
def test_settings_that_make_no_sense_are_named(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)


@pytest.mark.usefixtures("as_user")
def test_only_natural_gradients_choose_their_batch():
    with pytest.raises(ValueError, match="batch must be a whole number"):
        ex.SpIN(batch=None)
    assert ex.NaturalGradient(batch=None).resolved(ex.Problem.checked(-ex.Laplacian(), BOX, 2)).batch == 256


class Still(NamedTuple):
    network: Any
    before: Any


class Look(NamedTuple):
    eigenvalues: jax.Array
    residuals: jax.Array
    healthy: jax.Array


class Stay(ex.GradientSolver):
    """Learns nothing: all that a solver has to write."""

    healthy_below: float = eqx.field(static=True, default=np.inf)

    def begin(self, network, outputs):
        return Still(network, jnp.zeros((), jnp.int32))

    def update(self, operator, state, batch):
        u = jax.vmap(state.network)(batch.x)
        ku = operator.apply(state.network, batch, u)
        now = quotient(second_moment(u, u, batch.weights), second_moment(u, ku, batch.weights))
        healthy = state.before < self.healthy_below
        look = Look(jnp.diag(now.matrix), residual_norms(u, ku, batch.weights, now), healthy)
        return Still(state.network, state.before + 1), look


def run(solver, operator=SLOPE, **options):
    problem = ex.Problem.checked(operator, BOX, 2, **({"network": network()} | options))
    solver, problem = prepared(problem, solver)
    return iterate(problem, solver).last


def test_a_solver_that_learns_nothing_is_stopped_where_residuals_are_exact_and_measures_the_network_as_it_is():
    last = run(Stay(batch=32), max_steps=1000)
    assert last.stop_reason is ex.StopReason.STALLED
    assert 500 < last.step < 1000
    modes = ex.solve(SLOPE, BOX, 2, network=network(), solver=Stay(samples=512), max_steps=1000, progress=False)
    measured = ex.measure(network(), SLOPE, BOX, samples=512)
    assert (modes.solver, modes.stop_reason) == ("Stay", ex.StopReason.STALLED)
    np.testing.assert_array_equal(modes.eigenvalues, measured.eigenvalues)


def test_it_goes_on_where_patience_is_not_at_an_end_or_residuals_are_estimates_themselves():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    for last in (run(Stay(batch=32), max_steps=LEAST_PATIENCE), run(Stay(batch=32), kernel, max_steps=300)):
        assert last.stop_reason is ex.StopReason.MAX_STEPS


def test_the_step_that_went_wrong_is_named_and_the_state_before_its_chunk_kept():
    with pytest.raises(ex.DivergedError, match=r"^diverged at step 13: .*The state of step 10 is the last") as stopped:
        run(Stay(healthy_below=13, batch=8, log_every=5), max_steps=30)
    assert int(stopped.value.snapshot.state.solver.before) == 10


@pytest.mark.parametrize(
    ("solver", "refused"),
    [
        (ex.SpIN(batch=4), True),
        (ex.SpIN(batch=5), False),
        (ex.SpIN(batch=4, ema_rate=0.01), False),
        (ex.SpIN(batch=4, ema_rate=ema_schedule(lambda step: 0.5**step)), True),
        (ex.NaturalGradient(batch=4), True),
        (Stay(batch=4), False),
    ],
)
def test_batches_of_fewer_points_than_functions_need_averages_from_the_start(solver, refused):
    problem = ex.Problem.checked(SLOPE, BOX, 5, network=network(5), max_steps=10)
    if refused:
        with pytest.raises(ValueError, match=r"batch must have at least n = 5 points.* got 4.*ema_rate=0.01"):
            prepared(problem, solver)
    else:
        prepared(problem, solver)


class Imaginary(ex.Operator):
    complex = True

    def apply(self, function, batch, u):
        return 1j * u


class Weak(ex.WeakOperator):
    def moments(self, function, batch):
        raise NotImplementedError


@pytest.mark.parametrize(("operator", "what"), [(Imaginary(), "is complex"), (Weak(), "is a weak form")])
def test_what_cannot_be_trained_is_refused_with_what_can(operator, what):
    with pytest.raises(ValueError, match=rf"SpIN trains real functions.*{what}.*RayleighRitz\(\) takes such ones"):
        prepared(ex.Problem.checked(operator, BOX, 2, network=network()), ex.SpIN())


@pytest.mark.parametrize(
    "changed",
    [
        {"optimizer": optax.adam(1e-1)},
        {"optimizer": optax.adam(1e-3, b2=0.99)},
        {"optimizer": optax.adam(1e-3), "ema_rate": lambda step: 0.5},
    ],
    ids=["learning rate", "memory", "averaging rate"],
)
def test_another_optimiser_is_another_run(tmp_path, changed):
    box = ex.Box(-6, 6)
    network = ex.Multiply(ex.DirichletFactor(box), ex.MLP(1, 2, width=8, depth=1, key=network_key(0)))

    def run(**settings):
        solver = ex.SpIN(**settings, batch=16, samples=256, finish="eigh")
        options = {"solver": solver, "network": network, "max_steps": 2, "checkpoint_dir": tmp_path, "progress": False}
        return ex.solve(-ex.Laplacian(), box, 2, **options)

    run(optimizer=optax.adam(1e-3))
    run(optimizer=optax.adam(1e-3))
    with pytest.raises(ex.RunError, match=r"holds another run \((optimizer|ema_rate) was"):
        run(**changed)


def test_training_that_tells_no_residuals_takes_all_its_steps():
    class Still(ex.GradientSolver):
        def begin(self, network, outputs):
            return StillState(network)

        def update(self, operator, state, batch):
            return state, StillInfo(jnp.zeros(2), jnp.asarray(True))

    box = ex.Box(-6, 6)
    network = ex.Multiply(ex.DirichletFactor(box), ex.MLP(1, 2, width=8, depth=1, key=network_key(0)))
    solver = Still(batch=16, samples=256, finish="eigh")
    modes = ex.solve(-ex.Laplacian(), box, 2, solver=solver, network=network, max_steps=400, progress=False)
    assert modes.steps == 400
    assert modes.stop_reason is ex.StopReason.MAX_STEPS


class StillState(NamedTuple):
    network: Any


class StillInfo(NamedTuple):
    eigenvalues: Any
    healthy: Any

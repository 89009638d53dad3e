"""The loop: traced once, the same bits however it is cut, stopped by NaN or Ctrl-C with the last good state."""

import functools
import os
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import eigenax as ex
from eigenax.assemble import prepared
from eigenax.driver.iterate import iterate
from eigenax.io.checkpoint import checkpoints
from eigenax.networks.boundary import BoxFactor
from eigenax.solvers.default_parts import network_key

BOX = ex.Box(-5, 5, dims=1)


@functools.cache
def oscillator():
    return -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))


def small_network(n, seed=0):
    return ex.Multiply(ex.DirichletFactor(BOX), ex.MLP(1, n, width=8, depth=2, key=network_key(seed)))


def small_solver(kind=ex.SpIN, **options):
    return kind(**({"batch": 32, "log_every": 10} | options))


def small_problem(operator=None, source=BOX, n=2, solver=None, **options):
    defaults = {"network": small_network(n, options.get("seed", 0)), "max_steps": 30}
    problem = ex.Problem.checked(operator or oscillator(), source, n, **(defaults | options))
    return prepared(problem, solver or small_solver())


def small_run(operator=None, callbacks=(), checkpoint_dir=None, **options):
    """The last snapshot of a short training."""
    solver, problem = small_problem(operator, **options)
    return iterate(problem, solver, callbacks=callbacks, checkpoint_dir=checkpoint_dir).last


def leaves(snapshot):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(snapshot.state, eqx.is_array))]


def assert_same_bits(first, second):
    for a, b in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("steps", [30, 25, 7])
def test_a_step_is_traced_once_even_when_the_last_chunk_is_shorter(steps):
    traces = []

    class Counted(ex.Operator):
        def apply(self, function, batch, u):
            traces.append(batch.x.shape)
            return batch.x * u

    solver, problem = small_problem(Counted(), max_steps=steps)
    traces.clear()  # of the look at the operator
    iterate(problem, solver)
    assert traces == [(32, 1)]


def test_results_do_not_depend_on_how_the_run_is_cut_into_chunks():
    first, second = (small_run(solver=small_solver(log_every=length)) for length in (10, 4))
    # The lowest residual so far is looked at between chunks.
    assert_same_bits(*(run._replace(state=run.state._replace(lowest=jnp.zeros(2))) for run in (first, second)))


def test_callbacks_see_every_chunk_and_why_the_last_one_was_the_last():
    seen = []
    small_run(callbacks=[lambda now: seen.append((now.step, len(now.metrics.get("eigenvalues", [])), now.stop_reason))])
    assert seen == [(0, 0, None), (10, 2, None), (20, 2, None), (30, 2, ex.StopReason.MAX_STEPS)]


def test_an_interrupted_run_saves_and_goes_on_to_the_same_bits(tmp_path):
    def press_ctrl_c(now):
        if now.step == 10:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ex.InterruptedRun, match="stopped at step 10 of 30") as stopped:
        small_run(checkpoint_dir=tmp_path, callbacks=[press_ctrl_c])
    assert stopped.value.snapshot.step == 10
    assert any("the same call goes on from step 10" in note for note in stopped.value.__notes__)
    assert signal.getsignal(signal.SIGINT) is before
    assert checkpoints(tmp_path / "checkpoints")[-1].name == "step-000000010.safetensors"
    assert_same_bits(small_run(checkpoint_dir=tmp_path), small_run())


def test_a_run_that_has_ended_is_not_gone_on_with_and_still_says_why_it_ended(tmp_path):
    seen = []
    first = small_run(checkpoint_dir=tmp_path)
    again = small_run(checkpoint_dir=tmp_path, callbacks=[seen.append])
    assert [(now.step, now.stop_reason) for now in seen] == [(30, ex.StopReason.MAX_STEPS)]
    assert (again.seconds, again.compile_seconds) == (first.seconds, first.compile_seconds)
    assert_same_bits(first, again)


def test_a_network_that_is_not_ours_can_be_resumed_too(tmp_path):
    def run(steps, **options):
        foreign = eqx.nn.MLP(1, 2, 8, 1, jnp.tanh, key=jax.random.key(0))
        network = ex.Multiply(BoxFactor(BOX.low, BOX.high), foreign)
        return small_run(network=network, max_steps=steps, **options)

    run(30, checkpoint_dir=tmp_path)
    checkpoints(tmp_path / "checkpoints")[-1].unlink()
    assert_same_bits(run(30, checkpoint_dir=tmp_path), run(30))


def test_divergence_stops_the_run_keeps_the_last_good_state_and_says_what_to_change(tmp_path):
    learning_rate = optax.piecewise_constant_schedule(1e-3, {15: 1e30})
    with pytest.raises(ex.DivergedError, match=r"lower the learning rate.*step 10 is the last good") as stopped:
        small_run(checkpoint_dir=tmp_path, solver=small_solver(optimizer=optax.sgd(learning_rate)))
    assert all(np.isfinite(leaf).all() for leaf in leaves(stopped.value.snapshot))
    assert checkpoints(tmp_path / "checkpoints")[-1].name == "step-000000010.safetensors"


def test_a_folder_of_another_run_is_refused(tmp_path):
    small_run(checkpoint_dir=tmp_path, seed=0)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for message, change in {
        "seed was 0 and is 1": {"seed": 1},
        "batch was 32 and is 16": {"solver": small_solver(batch=16)},
        "operator was another one": {"operator": 1.005 * oscillator()},
        "n was 2 and is 3": {"n": 3},
        "max_steps was 30 and is 40": {"max_steps": 40},
        "which was smallest and is largest": {"operator": -oscillator(), "which": "largest"},
        "precision was float32 and is float64": {"solver": small_solver(precision="float64")},
        "solver was SpIN and is NaturalGradient": {"solver": small_solver(ex.NaturalGradient)},
        "average was moments and is jacobian": {"solver": small_solver(average="jacobian")},
        "ema_rate was another one": {
            "solver": small_solver(ema_rate=ex.ema_schedule(optax.constant_schedule(1.0), floor=0.5))
        },
    }.items():
        with pytest.raises(ex.RunError, match=rf"holds another run .*{message}"):
            small_run(checkpoint_dir=tmp_path, **change)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("as_user")
def test_a_count_of_numpy_is_a_setting_like_any_other(tmp_path):
    small_run(checkpoint_dir=tmp_path, solver=small_solver(batch=np.int64(32), log_every=np.int32(10)))
    small_run(checkpoint_dir=tmp_path)
    with pytest.raises(ex.RunError, match="batch was 32 and is 16"):
        small_run(checkpoint_dir=tmp_path, solver=small_solver(batch=np.int64(16)))


def test_how_results_are_measured_and_shown_makes_no_other_run(tmp_path):
    small_run(checkpoint_dir=tmp_path)
    small_run(checkpoint_dir=tmp_path, solver=small_solver(samples=512, finish="cholesky", log_every=5))


def test_a_folder_of_another_series_is_refused(tmp_path):
    series = np.random.default_rng(0).normal(size=(200, 1)).cumsum(0).astype(np.float32)

    def slow_features(series):
        return small_run(ex.Slowness(), source=ex.TimeSeries(series), checkpoint_dir=tmp_path)

    slow_features(series)
    slow_features(series.copy())
    series[100] += 0.1
    with pytest.raises(ex.RunError, match=r"holds another run .*source was another one"):
        slow_features(series)


def test_what_differs_in_a_hundredth_of_the_box_and_another_box_are_other_runs(tmp_path):
    solver = ex.RayleighRitz(n_basis=16, samples=512)

    def run(bump=0.0, box=BOX):
        operator = oscillator() + ex.Potential(lambda x: jnp.where(jnp.abs(x[0] - 1) < 0.05, bump, 0.0))
        options = {"solver": solver, "max_steps": 1, "checkpoint_dir": tmp_path, "progress": False}
        return ex.solve(operator, box, 2, **options)

    run()
    for change, what in (({"bump": 5.0}, "operator"), ({"box": ex.Box(-5, 5.01)}, "source")):
        with pytest.raises(ex.RunError, match=f"{what} was another one"):
            run(**change)


def test_shown_eigenvalues_have_the_sign_of_the_operator():
    kernel, source = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2))), ex.Box(-1, 1, dims=1)
    network, solver = ex.MLP(1, 2, key=network_key(0)), ex.SpIN(batch=64)
    last = small_run(kernel, source=source, network=network, which="largest", max_steps=50, solver=solver)
    assert min(last.metrics["eigenvalues"]) > 0


class Count(ex.Solver):
    """Counts its steps, and tells of them or not."""

    upto: int = eqx.field(static=True)
    tells: bool = eqx.field(static=True, default=True)

    def why_not(self, problem):
        return None

    def init(self, problem, key):
        return Counting(jnp.zeros((), jnp.int32), jax.random.key_data(key))

    def step(self, problem, state, key):
        after = Counting(state.step + 1, jax.random.key_data(jax.random.fold_in(key, state.step)))
        metrics = {"count": int(after.step)} if self.tells else {}
        return after, ex.Info(metrics, ex.StopReason.EXACT if after.step == self.upto else None)

    def modes(self, problem, state):
        raise NotImplementedError

    def total(self, problem, state):
        return problem.max_steps or 100


class Counting(eqx.Module):
    step: jax.Array
    drawn: jax.Array


def count(upto, checkpoint_dir=None, callbacks=(), tells=True, **options):
    problem = ex.Problem.checked(oscillator(), BOX, 1, **options)
    return iterate(problem, Count(upto, tells), callbacks=callbacks, checkpoint_dir=checkpoint_dir).last


@pytest.mark.parametrize(
    ("upto", "max_steps", "steps", "reason"),
    [(7, None, 7, "EXACT"), (7, 5, 5, "MAX_STEPS"), (7, 7, 7, "EXACT"), (200, None, 100, "MAX_STEPS")],
)
def test_any_solver_is_driven_until_it_has_finished_or_all_steps_are_taken(upto, max_steps, steps, reason):
    last = count(upto, max_steps=max_steps)
    assert (last.step, last.max_steps, last.stop_reason) == (steps, max_steps or 100, ex.StopReason[reason])
    assert last.metrics == {"count": steps}


@pytest.mark.parametrize("tells", [True, False])
def test_any_solver_goes_on_where_it_was_stopped_to_the_same_bits(tmp_path, tells):
    def stop(now):
        if now.step == 3:
            raise ex.InterruptedRun("enough", now)

    with pytest.raises(ex.InterruptedRun, match="enough"):
        count(7, tmp_path, [stop], tells)
    first, again = [], []
    assert_same_bits(count(7, tmp_path, [first.append], tells), count(7, tells=tells))
    assert [now.step for now in first] == [3, 4, 5, 6, 7]
    assert_same_bits(count(7, tmp_path, [again.append], tells), first[-1])
    assert [(now.step, now.stop_reason) for now in again] == [(7, ex.StopReason.EXACT)]
    with pytest.raises(ex.RunError, match="upto was 7 and is 8"):
        count(8, tmp_path, tells=tells)

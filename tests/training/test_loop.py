"""The loop: traced once, the same bits however it is cut, stopped by NaN or Ctrl-C with the last good state."""

import os
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import eigenax as ex
from eigenax.assemble import fit
from eigenax.io.checkpoint import checkpoints

BOX = ex.Box(-5, 5, dims=1)


def oscillator():
    return -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))


def small_network(n, seed=0):
    return ex.Bounded(ex.Walls(BOX), ex.MLP(1, n, width=8, depth=2, key=ex.network_key(seed)))


def small_fit(operator=None, **options):
    network = small_network(2, options.get("seed", 0))
    defaults = {"network": network, "steps": 30, "batch": 32, "progress": False, "log_every": 10}
    return fit(operator or oscillator(), BOX, 2, **(defaults | options))


def leaves(moment):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(moment.state, eqx.is_array))]


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

    small_fit(Counted(), steps=steps)
    assert traces == [(32, 1)]


def test_results_do_not_depend_on_how_the_run_is_cut_into_chunks():
    first, second = small_fit(log_every=10), small_fit(log_every=4)
    # The lowest residual so far is looked at between chunks.
    assert_same_bits(*(run._replace(state=run.state._replace(lowest=jnp.zeros(2))) for run in (first, second)))


def test_callbacks_see_every_chunk():
    seen = []
    small_fit(callbacks=[lambda moment: seen.append((moment.step, len(moment.metrics.get("eigenvalues", []))))])
    assert seen == [(0, 0), (10, 2), (20, 2), (30, 2)]


def test_an_interrupted_run_saves_and_goes_on_to_the_same_bits(tmp_path):
    def press_ctrl_c(moment):
        if moment.step == 10:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ex.InterruptedRun, match="stopped at step 10 of 30"):
        small_fit(folder=tmp_path, callbacks=[press_ctrl_c])
    assert signal.getsignal(signal.SIGINT) is before
    assert checkpoints(tmp_path / "checkpoints")[-1].name == "step-000000010.safetensors"
    assert_same_bits(small_fit(folder=tmp_path), small_fit())


def test_a_network_that_is_not_ours_can_be_resumed_too(tmp_path):
    def run(steps, **options):
        foreign = eqx.nn.MLP(1, 2, 8, 1, jnp.tanh, key=jax.random.key(0))
        network = ex.Bounded(ex.BoxFactor(BOX.low, BOX.high), foreign)
        return small_fit(network=network, steps=steps, **options)

    run(30, folder=tmp_path)
    checkpoints(tmp_path / "checkpoints")[-1].unlink()
    assert_same_bits(run(30, folder=tmp_path), run(30))


def test_divergence_stops_the_run_keeps_the_last_good_state_and_says_what_to_change(tmp_path):
    learning_rate = optax.piecewise_constant_schedule(1e-3, {15: 1e30})
    with pytest.raises(ex.DivergedError, match=r"lower the learning rate.*step 10 is the last good") as stopped:
        small_fit(folder=tmp_path, solver=ex.SpIN(optax.sgd(learning_rate)))
    assert all(np.isfinite(leaf).all() for leaf in leaves(stopped.value.moment))
    assert checkpoints(tmp_path / "checkpoints")[-1].name == "step-000000010.safetensors"


def test_a_folder_of_another_run_is_refused(tmp_path):
    small_fit(folder=tmp_path, seed=0)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ex.RunError, match=r"holds another run .*seed was 0 and is 1"):
        small_fit(folder=tmp_path, seed=1)
    with pytest.raises(ex.RunError, match=r"holds another run .*batch was 32 and is 16"):
        small_fit(folder=tmp_path, batch=16)
    with pytest.raises(ex.RunError, match=r"holds another run .*problem was"):
        small_fit(2.0 * oscillator(), folder=tmp_path)
    with pytest.raises(ex.RunError, match=r"holds another run .*n was 2 and is 3"):
        fit(oscillator(), BOX, 3, network=small_network(3), steps=30, batch=32, progress=False, folder=tmp_path)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_folder_of_another_series_is_refused_and_rounding_is_not_another_one(tmp_path):
    series = np.random.default_rng(0).normal(size=(200, 1)).cumsum(0).astype(np.float32)

    def slow_features(series):
        return fit(
            ex.Slowness(), ex.Clips(series), 2, network=small_network(2), steps=30, batch=32, progress=False,
            folder=tmp_path,
        )  # fmt: skip

    slow_features(series)
    slow_features(series * (1 + 1e-6))
    with pytest.raises(ex.RunError, match=r"holds another run .*problem was"):
        slow_features(series[::-1] / 3)


def test_shown_eigenvalues_have_the_sign_of_the_operator():
    kernel, source = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2))), ex.Box(-1, 1, dims=1)
    network = ex.MLP(1, 2, key=ex.network_key(0))
    last = fit(kernel, source, 2, network=network, which="largest", steps=50, batch=64, progress=False)
    assert min(last.metrics["eigenvalues"]) > 0

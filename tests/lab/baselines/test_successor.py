"""Successor features: of a game so small that they are known, and the parts they are learned with."""

import contextlib
import functools
import signal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.errors import DivergedError, InterruptedRun, RunError
from eigenax.io.metrics import read_metrics
from eigenax.lab.baselines.agent_steps import AgentSteps
from eigenax.lab.baselines.predictor import Predictor
from eigenax.lab.baselines.successor import SuccessorLearning, eigenpurposes, learn_successors
from eigenax.operators.slowness import Slowness


def blinking(steps=400, side=12):
    """A square that an action puts to the left or to the right."""
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, steps).astype(np.uint8)
    frames = np.zeros((steps, side, side), np.uint8)
    for frame, action in zip(frames, actions, strict=True):
        frame[3:9, 1 + 6 * action : 5 + 6 * action] = 255
    starts = np.zeros(steps, bool)
    starts[[0, 100, 103, 250]] = True
    return frames, actions, starts


@functools.cache
def small(key=0):
    return eqx.filter_jit(Predictor)(12, 2, maps=4, width=32, latent=16, key=jax.random.key(key))


@eqx.filter_jit
def predicted(network, drawn):
    return jax.vmap(network.next_frame)(jax.vmap(network.encoder)(drawn.x), drawn.action)


def test_it_learns_what_an_action_leads_to(tmp_path):
    source = AgentSteps(*blinking())
    settings = {"batch": 16, "learning_rate": 1e-3, "target_every": 50}
    network = learn_successors(source, small(), tmp_path / "whole", steps=300, **settings)
    losses = [row["prediction"] for row in read_metrics(tmp_path / "whole" / "metrics.jsonl")]
    assert losses[-1] < 0.1 * losses[0]
    drawn = source.sample(jax.random.key(1), 64)
    assert jnp.abs(predicted(network, drawn) - drawn.after[:, -1]).mean() < 0.1


def test_what_was_interrupted_goes_on_to_the_same_network(tmp_path, monkeypatch):
    source, settings = AgentSteps(*blinking()), {"steps": 60, "batch": 8, "target_every": 20}
    whole = learn_successors(source, small(), tmp_path / "whole", **settings)

    @contextlib.contextmanager
    def ctrl_c(label, show):
        yield lambda snapshot: signal.raise_signal(signal.SIGINT) if snapshot.step == 30 else None

    monkeypatch.setattr("eigenax.lab.baselines.successor.progress_bar", ctrl_c)
    with pytest.raises(InterruptedRun, match="stopped at step 30 of 60"):
        learn_successors(source, small(), tmp_path / "half", **settings)
    monkeypatch.undo()
    half = learn_successors(source, small(key=1), tmp_path / "half", **settings)
    jax.tree.map(np.testing.assert_array_equal, *(jax.tree.leaves(one) for one in (whole, half)))
    with pytest.raises(RunError, match="target_every was 20 and is 30"):
        learn_successors(source, small(), tmp_path / "half", **settings | {"target_every": 30})


def test_the_code_does_not_learn_from_successors_and_the_target_waits():
    source, network = AgentSteps(*blinking()), small()
    solver = SuccessorLearning(learning_rate=0.1, target_every=3)
    state, batch = solver.begin(network, 0), source.sample(jax.random.key(0), 8)
    code = jnp.ones(16)
    assert not any(jnp.any(leaf) for leaf in jax.tree.leaves(jax.grad(lambda c: network.successors(c).sum())(code)))
    learn = eqx.filter_jit(solver.update)
    for step in range(1, 4):
        state, _ = learn(Slowness(), state, batch)
        same = bool((state.target.of_action == state.network.of_action).all())
        assert same == (step == 3)


@pytest.mark.slow
def test_a_still_world_has_successors_of_its_code_over_one_minus_the_discount(tmp_path):
    frames = np.full((60, 12, 12), 128, np.uint8)
    source = AgentSteps(frames, np.zeros(60, np.uint8), np.arange(60) == 0)
    network = learn_successors(
        source, small(), tmp_path, steps=2000, batch=4, learning_rate=1e-3, target_every=1, discount=0.5
    )
    code = network.encoder(jnp.full((4, 12, 12), 128 / 255))
    np.testing.assert_allclose(network.successors(code), 2 * code, atol=0.05 * float(jnp.abs(code).max()))


def test_short_kernels_predict_much_the_same():
    network, drawn = small(), AgentSteps(*blinking()).sample(jax.random.key(0), 8)

    whole, short = predicted(network, drawn), predicted(network.with_short_kernels(), drawn)
    assert whole.dtype == short.dtype
    assert 0 < jnp.abs(whole - short).max() < 0.03 * jnp.abs(whole).max()


@pytest.mark.parametrize("centred", [True, False])
def test_eigenpurposes_are_principal_components(centred):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(500, 6)) * [1, 5, 1, 1, 3, 1] + 10.0 * np.eye(6)[2]
    found = eigenpurposes(values.astype(np.float32), 2, centred)
    wanted = (1, 4) if centred else (2, 1)
    for k, column in enumerate(wanted):
        assert abs(np.corrcoef(found[:, k], values[:, column])[0, 1]) > 0.95


def test_what_diverges_is_told_of_successor_features(tmp_path):
    rng = np.random.default_rng(0)
    frames, actions = rng.integers(0, 255, (200, 16, 16), dtype=np.uint8), np.zeros(200, np.uint8)
    played = AgentSteps(frames, actions, np.arange(200) == 0)
    network = eqx.filter_jit(Predictor)(16, 1, maps=2, width=4, latent=4, key=jax.random.key(0))
    with pytest.raises(DivergedError, match="a loss of the successor features is not finite; lower their learning"):
        learn_successors(played, network, tmp_path, steps=50, learning_rate=1e30)

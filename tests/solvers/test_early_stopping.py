"""Training that is judged by data it never sees: it ends before it knows the rest by heart, to the same bits."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest

import eigenax as ex
from eigenax.assemble import prepared
from eigenax.driver.iterate import iterate
from eigenax.errors import InterruptedRun
from eigenax.lab.scores.slowness import delta_values
from eigenax.solvers.default_parts import network_key
from eigenax.solvers.early_stopping import quotients

TIME = np.arange(300)
ROWS = np.random.default_rng(0).normal(size=(300, 12)) + np.sin(TIME / 9)[:, None] * np.linspace(0.5, 1.5, 12)


def problem(rows, steps, **options):
    """A network with room for all of the rows, and its solver."""
    network = ex.WithConstant(ex.MLP(12, 1, width=128, depth=2, key=network_key(0)))
    source = ex.TimeSeries(rows, 2, **options)
    solver, made = prepared(
        ex.Problem.checked(ex.Slowness(), source, 2, network=network, max_steps=steps), ex.SpIN(batch=32, samples=4096)
    )
    return made, solver


def slowness(snapshot, solver, made):
    modes = solver.modes(made, snapshot.state)
    return float(delta_values([np.asarray(modes(ROWS[240:]))[:, 1:]])[0])


def test_training_ends_before_the_rows_are_known_by_heart_and_the_best_network_is_kept():
    (judged, solver), (whole, _) = problem(ROWS[:240], 1500, held_out=0.2), problem(ROWS[:240], 1500)
    ended, all_of_it = iterate(judged, solver).last, iterate(whole, solver).last
    assert ended.stop_reason is ex.StopReason.OVERFITS
    assert ended.step < 1500
    assert int(ended.state.kept.step) < ended.step
    assert slowness(ended, solver, judged) < 0.8 * slowness(all_of_it, solver, whole)


def test_a_run_that_is_judged_goes_on_to_the_same_bits(tmp_path):
    made, solver = problem(ROWS, 40, held_out=0.2)
    whole = iterate(made, solver).last

    def interrupted(snapshot):
        if snapshot.step == 23:
            raise InterruptedRun("stopped", snapshot)

    with pytest.raises(InterruptedRun):
        iterate(made, solver, checkpoint_dir=tmp_path, callbacks=[interrupted])
    resumed = iterate(made, solver, checkpoint_dir=tmp_path).last
    for a, b in zip(
        *(jax.tree.leaves(eqx.filter(one.state, eqx.is_array_like)) for one in (whole, resumed)), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert whole.metrics["held_out"] == resumed.metrics["held_out"]


def test_held_out_quotients_are_the_slowness_of_the_rows_there():
    t = np.arange(6000)
    rows = np.stack([np.sin(t / 30), np.sin(t / 3)], 1) + 1.0
    rows[3000:] *= 2  # other rows with another mean
    mixing = ex.WithConstant(eqx.nn.Linear(2, 2, key=jax.random.key(1)))
    clips = ex.TimeSeries(rows, held_out=0.5)
    found = quotients(mixing, ex.Slowness(), clips, clips.held_out, jax.random.key(0), 256)
    np.testing.assert_allclose(found, delta_values([rows[3000:]]), rtol=0.1)


def test_minus_an_operator_keeps_the_same_network():
    (made, solver), (minus, _) = problem(ROWS, 60, held_out=0.2), problem(ROWS, 60, held_out=0.2)
    minus = dataclasses.replace(minus, operator=-1 * ex.Slowness(), which="largest")
    assert int(iterate(made, solver).last.state.kept.step) == int(iterate(minus, solver).last.state.kept.step)


def test_held_out_data_that_do_not_vary_end_nothing():
    rows = ROWS.copy()
    rows[200:] = rows[200]
    made, solver = problem(rows, 150, held_out=0.2)
    last = iterate(made, solver).last
    assert last.step == 150
    assert "held out do not vary" in solver.modes(made, last.state).note

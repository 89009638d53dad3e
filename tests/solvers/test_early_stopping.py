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


def autoregressive(count, seed):
    """What wanders and is drawn back, beside three columns of noise."""
    rng, place = np.random.default_rng(seed), np.zeros(count)
    for t in range(1, count):
        place[t] = 0.9 * place[t - 1] + np.sqrt(1 - 0.9**2) * rng.normal()
    return np.stack([place, *rng.normal(size=(3, count))], 1)


def of_rows(rows, steps, **options):
    network = ex.WithConstant(ex.MLP(rows.shape[1], 2, width=32, depth=2, key=network_key(0)))
    solver = ex.SpIN(batch=64, samples=2048)
    options = {"network": network, "solver": solver, "max_steps": steps, "progress": False}
    return ex.solve(ex.Slowness(), ex.TimeSeries(rows, 5, held_out=0.3), 3, **options)


def test_values_of_what_was_trained_are_those_of_held_out_data_and_their_errors_cover_what_is_true():
    modes = of_rows(autoregressive(1500, 0), 200)
    fresh = np.asarray(modes(autoregressive(20_000, 1)))[:, 1:]
    assert (np.diff(modes.eigenvalues) > 0).all()
    assert (np.abs(modes.eigenvalues[1:] - delta_values([fresh])) < 3 * modes.standard_errors[1:]).all()
    assert modes.eigenvalues[0] == modes.training_eigenvalues[0]
    apart = np.abs(modes.eigenvalues - modes.training_eigenvalues)
    assert (apart <= modes.standard_errors + 1e-12).all()
    assert "training" in str(modes)


@pytest.mark.filterwarnings("default::RuntimeWarning")
def test_what_was_trained_on_noise_is_told_of_in_the_words_for_what_was_not_trained():
    rng = np.random.default_rng(0)
    with pytest.warns(RuntimeWarning, match="follow the very rows that they were found on"):
        modes = of_rows(rng.normal(size=(200, 12)), 400)
    assert (np.abs(modes.eigenvalues - 2) < 3 * modes.standard_errors)[1:].all()
    assert (modes.training_eigenvalues[1:] < 1.5).all()


def test_largest_of_minus_an_operator_has_the_same_held_out_values():
    (made, solver), (minus, _) = problem(ROWS, 20, held_out=0.2), problem(ROWS, 20, held_out=0.2)
    minus = dataclasses.replace(minus, operator=-1 * ex.Slowness(), which="largest")
    one, other = (solver.modes(each, iterate(each, solver).last.state) for each in (made, minus))
    np.testing.assert_allclose(one.eigenvalues, -other.eigenvalues, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(one.training_eigenvalues, -other.training_eigenvalues, rtol=1e-4, atol=1e-6)


def test_all_pairs_of_held_out_time_come_once_and_in_order():
    episodes = [np.arange(100.0)[:, None], 1000 + np.arange(70.0)[:, None]]
    for frames in (1, 2):
        batches = list(ex.TimeSeries(episodes, 5, n_stack=frames).in_order)
        assert len({one.x.shape for one in batches}) == 1
        first, second, weights = (
            np.concatenate(part)
            for part in zip(*((one.x[one.first], one.x[one.second], one.pair_weights) for one in batches), strict=True)
        )
        points = [np.stack([one[k : len(one) - frames + k + 1, 0] for k in range(frames)], 1) for one in episodes]
        np.testing.assert_array_equal(first[weights > 0], np.concatenate([one[:-1] for one in points]))
        np.testing.assert_array_equal(second[weights > 0], np.concatenate([one[1:] for one in points]))

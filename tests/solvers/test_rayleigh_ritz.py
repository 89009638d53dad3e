"""What is asked of the Rayleigh–Ritz method is what it does, or is refused by name."""

import os
import signal
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex

WELL = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
ROWS = np.random.default_rng(0).normal(size=(400, 2)).cumsum(0)
RING = ex.Graph([(k, (k + 1) % 30) for k in range(30)], features=np.arange(30.0)[:, None])
STEPS = ex.Transitions(np.arange(300.0)[:, None] % 30, np.arange(1, 301.0)[:, None] % 30)


class TurningKernel(ex.Operator):
    """e^{−|d|²/2 + 2i d₁}, d the difference of two points: Hermitian, not real."""

    integral = True
    complex = True

    def apply(self, function, batch, u):
        return self.between(batch.x, batch.x) @ u / len(u)

    def between(self, x, y):
        apart = x[:, None] - y
        return jnp.exp(-(apart**2).sum(-1) / 2 + 2j * apart[..., 0])


def sizes_of_bases(operator, source, n=2, **settings):
    seen = []
    solver = ex.RayleighRitz(**settings)
    ex.solve(operator, source, n, solver=solver, progress=False, callbacks=[lambda s: seen.append(s.metrics)])
    return [metrics["waves"] for metrics in seen if metrics]


@pytest.mark.parametrize(
    ("operator", "source"),
    [
        (WELL, ex.Box(-6, 6)),
        (ex.Slowness(), ex.TimeSeries(ROWS)),
        (ex.GraphLaplacian(), RING),
        (ex.GraphLaplacian(), STEPS),
    ],
    ids=["domain", "series", "graph", "steps"],
)
def test_bases_have_as_many_functions_as_asked(operator, source):
    tried = sizes_of_bases(operator, source, n_basis=16, max_basis=18)
    assert tried[0] == 16
    assert set(tried) <= {16, 18}


@pytest.mark.parametrize(
    ("operator", "source"),
    [(ex.Slowness(), ex.TimeSeries(ROWS[:100])), (ex.GraphLaplacian(), ex.Transitions(ROWS[:-1], ROWS[1:]))],
    ids=["series", "steps"],
)
def test_more_functions_than_the_data_would_be_given_are_tried_if_asked_for(operator, source):
    assert sizes_of_bases(operator, source, n_basis=300, max_basis=300)[0] == 300


def test_a_series_is_tried_with_twice_as_many_until_these_do_no_better():
    assert set(sizes_of_bases(ex.Slowness(), ex.TimeSeries(ROWS), n_basis=8, max_basis=32)) == {8, 16}


def test_too_few_cells_are_named():
    with pytest.raises(ValueError, match=r"SoftmaxCells must have at least n = 5 cells; got 3"):
        ex.solve(ex.GraphLaplacian(), RING, 5, solver=ex.RayleighRitz(basis=ex.SoftmaxCells(3)), progress=False)


def test_a_basis_that_is_too_small_is_followed_by_a_larger_one():
    modes = ex.solve(ex.GraphLaplacian(), RING, 5, solver=ex.RayleighRitz(n_basis=2), progress=False)
    np.testing.assert_allclose(modes.eigenvalues[3], 2 - 2 * np.cos(4 * np.pi / 30))


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_basis": 0}, ValueError, "n_basis must be a whole number of at least 1; got 0"),
        ({"samples": 1.5}, ValueError, "samples must be a whole number"),
        ({"samples": 63}, ValueError, "samples must be a whole number of at least 64; got 63"),
        ({"n_basis": 64, "max_basis": 32}, ValueError, "n_basis must be at most max_basis = 32; got 64"),
        ({"basis": 64}, TypeError, r"basis must be SoftmaxCells\(…\) or None"),
    ],
)
def test_wrong_settings_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        ex.RayleighRitz(**settings)


@pytest.mark.parametrize(
    ("operator", "source", "settings", "message"),
    [
        (ex.Slowness(), ex.TimeSeries(ROWS), {"samples": 99}, "no use for samples on such a problem; leave it out"),
        (ex.GraphLaplacian(), RING, {"basis": ex.SoftmaxCells(8), "n_basis": 9}, "no use for n_basis"),
        (WELL, ex.Box(-6, 6), {"max_basis": 2}, "max_basis must be at least n = 3"),
        (WELL, ex.Box(-6, 6), {"basis": ex.SoftmaxCells()}, "RayleighRitz takes GraphLaplacian"),
        (WELL, ex.Adaptive(ex.Box(-6, 6)), {}, "no use for Adaptive; give the source inside it, or .* trains"),
        (TurningKernel(), ex.Arrays(ROWS), {}, "RayleighRitz takes .*Kernel, or a sum of them, real"),
    ],
)
def test_what_it_has_no_use_for_is_refused(operator, source, settings, message):
    with pytest.raises(ValueError, match=message):
        ex.solve(operator, source, 3, solver=ex.RayleighRitz(**settings), progress=False)


def test_cells_of_another_number_are_another_run(tmp_path):
    def run(cells):
        solver = ex.RayleighRitz(ex.SoftmaxCells(cells))
        return ex.solve(ex.GraphLaplacian(), RING, 2, solver=solver, checkpoint_dir=tmp_path, progress=False)

    run(6)
    with pytest.raises(ex.RunError, match=r"holds another run \(basis was"):
        run(8)


def test_a_run_that_has_ended_is_read_back_to_the_same_bits(tmp_path):
    """The last basis is tried again, with what it began with from the file instead of from the basis before."""
    solver = ex.RayleighRitz(n_basis=32, max_basis=64, samples=2**12)

    def run():
        options = {"solver": solver, "max_steps": 3, "checkpoint_dir": tmp_path, "progress": False}
        return ex.solve(WELL, ex.Box(-6, 6), 3, **options)

    first = run()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as where a checkpoint is refused
        again = run()
    assert again.steps == first.steps > 1
    np.testing.assert_array_equal(again.eigenvalues, first.eigenvalues)
    np.testing.assert_array_equal(again.coefficients, first.coefficients)


@pytest.mark.parametrize(
    ("operator", "source", "settings"),
    [
        (WELL, ex.Box(-6, 6), {"n_basis": 32, "samples": 2**12}),
        (ex.Slowness(), ex.TimeSeries(ROWS), {}),
        (ex.GraphLaplacian(), RING, {"n_basis": 8, "max_basis": 40}),
        (ex.GraphLaplacian(), STEPS, {"n_basis": 8, "max_basis": 40}),
        (ex.GraphLaplacian(), RING, {"basis": ex.SoftmaxCells(12)}),
        (-ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2))), ex.Arrays(ROWS), {}),
    ],
    ids=["domain", "series", "graph", "steps", "cells", "kernel"],
)
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path, operator, source, settings):
    solver = ex.RayleighRitz(**settings)

    def run(**options):
        return ex.solve(operator, source, 3, solver=solver, max_steps=3, progress=False, **options)

    def press_ctrl_c(snapshot):
        if snapshot.step == 1:
            os.kill(os.getpid(), signal.SIGINT)

    whole = run()
    assert whole.steps > 1
    with pytest.raises(ex.InterruptedRun, match="stopped at step 1"):
        run(checkpoint_dir=tmp_path, callbacks=[press_ctrl_c])
    again = run(checkpoint_dir=tmp_path)
    assert (again.steps, again.stop_reason) == (whole.steps, whole.stop_reason)
    for name in ("eigenvalues", "coefficients", "sampling_errors", "basis_errors", "residuals"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))

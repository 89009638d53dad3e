"""What is asked of the Rayleigh–Ritz method is what it does, or is refused by name."""

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex

WELL = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
ROWS = np.random.default_rng(0).normal(size=(400, 2)).cumsum(0)
RING = ex.Transitions([(k, (k + 1) % 30) for k in range(30)], features=np.arange(30.0)[:, None])
STEPS = ex.Steps(np.arange(300.0)[:, None] % 30, np.arange(1, 301.0)[:, None] % 30)


def sizes_of_bases(operator, source, n=2, **settings):
    seen = []
    solver = ex.RayleighRitz(**settings)
    ex.solve(operator, source, n, solver=solver, progress=False, callbacks=[lambda s: seen.append(s.metrics)])
    return [metrics["waves"] for metrics in seen if metrics]


@pytest.mark.parametrize(
    ("operator", "source"),
    [
        (WELL, ex.Box(-6, 6)),
        (ex.Slowness(), ex.Clips(ROWS)),
        (ex.GraphLaplacian(), RING),
        (ex.GraphLaplacian(), STEPS),
    ],
    ids=["domain", "series", "graph", "steps"],
)
def test_no_basis_has_more_functions_than_allowed(operator, source):
    assert set(sizes_of_bases(operator, source, n_basis=16, max_basis=18)) <= {16, 18}


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_basis": 0}, ValueError, "n_basis must be a whole number of at least 1; got 0"),
        ({"samples": 1.5}, ValueError, "samples must be a whole number"),
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
        (ex.Slowness(), ex.Clips(ROWS), {"samples": 99}, "no use for samples on such a problem; leave it out"),
        (ex.GraphLaplacian(), RING, {"basis": ex.SoftmaxCells(8), "n_basis": 9}, "no use for n_basis"),
        (WELL, ex.Box(-6, 6), {"max_basis": 2}, "max_basis must be at least n = 3"),
        (WELL, ex.Box(-6, 6), {"basis": ex.SoftmaxCells()}, "RayleighRitz takes GraphLaplacian"),
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

    first, again = run(), run()
    assert again.steps == first.steps > 1
    np.testing.assert_array_equal(again.eigenvalues, first.eigenvalues)
    np.testing.assert_array_equal(again.coefficients, first.coefficients)

"""When eigenvalues are good enough: what `tol` is relative to, and what is said where it was not reached."""

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.driver.stopping import is_due, scales

SPHERE = ex.sphere()
TWO_PARTS = [(0, 1), (1, 2), (3, 4)]


def test_a_long_run_is_looked_at_now_and_then_and_at_its_end():
    looked_at = [step for step in range(1, 1001) if is_due(step - 1, step, 1000)]
    assert looked_at[0] == 50
    assert looked_at[-1] == 1000
    assert len(looked_at) < 20


def test_errors_are_compared_with_the_range_of_the_values_where_these_are_small():
    np.testing.assert_array_equal(scales(np.array([0.0, 1e-3, 4.0]), np.full(3, 1e-6), 9.0), [4, 4, 4])
    np.testing.assert_array_equal(scales(np.array([-7.0, -3.0]), np.zeros(2), None), [7, 4])


@pytest.mark.filterwarnings("ignore:the graph has 2 components")
@pytest.mark.parametrize(
    ("operator", "source", "n"),
    [
        (ex.GraphLaplacian(), ex.Graph([(0, 1), (1, 2), (2, 3)], features=np.arange(4.0)[:, None]), 1),
        (-ex.Laplacian(), ex.Box(0, 1, boundary="neumann"), 1),
        (-ex.LaplaceBeltrami(SPHERE.embedding), SPHERE, 1),
        (-ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2) - 1), ex.Box(-6, 6), 1),
    ],
    ids=["path", "free box", "sphere", "oscillator"],
)
def test_a_tol_is_reached_where_all_eigenvalues_are_zero(operator, source, n):
    modes = ex.solve(operator, source, n, tol=1e-3, progress=False)
    assert modes.stop_reason in {ex.StopReason.TOL, ex.StopReason.EXACT}
    assert np.abs(modes.eigenvalues).max() < 1e-3
    assert not modes.unconverged.any()


def test_a_tol_is_reached_on_a_graph_in_two_parts():
    parts = ex.Graph(TWO_PARTS, features=np.arange(5.0)[:, None])
    with pytest.warns(RuntimeWarning, match="the graph has 2 parts"):
        modes = ex.solve(ex.GraphLaplacian(), parts, 2, tol=1e-3, progress=False)
    assert modes.stop_reason is ex.StopReason.TOL
    assert np.abs(modes.eigenvalues).max() < 1e-12
    np.testing.assert_allclose(modes.next_eigenvalue, 1)


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_a_tol_means_the_same_in_any_unit_of_the_operator(unit):
    """One eigenvalue, whose error is as large as it is: that is no zero that was found."""
    rows = np.random.default_rng(0).normal(size=(400, 2))
    kernel = unit * ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
    solver = ex.SpIN(batch=64, samples=256, log_every=10)
    asked = {"which": "largest", "solver": solver, "max_steps": 20, "tol": 1e-2, "progress": False}
    with pytest.warns(RuntimeWarning, match=r"tol = 0.01 was not reached .*mode 1 of 1 is known to 0"):
        ex.solve(kernel, ex.Arrays(rows), 1, **asked)


def test_what_to_try_depends_on_why_the_run_ended():
    rows = np.random.default_rng(0).normal(size=(300, 3)).cumsum(0)
    with pytest.warns(RuntimeWarning, match=r"tol = 1e-09 was not reached .*Take more data"):
        ex.solve(ex.GraphLaplacian(), ex.Transitions(rows[:-1], rows[1:]), 3, tol=1e-9, progress=False)


def test_a_kernel_whose_waves_miss_nothing_is_told_to_take_more_points():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
    with pytest.warns(RuntimeWarning, match=r"tol = 1e-15 was not reached .*Take more points, or a larger tol"):
        modes = ex.solve(kernel, ex.Gaussian(0.0, 1.0, dims=1), 2, which="largest", tol=1e-15, progress=False)
    assert modes.stop_reason is ex.StopReason.EXACT

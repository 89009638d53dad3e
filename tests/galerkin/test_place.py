"""Bases on potentials with several wells and scales: converged, and with honest errors while they are not."""

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.driver.stopping import scales
from eigenax.evaluation.line import line_energies


def well(x):
    return 0.2 * (x**2 - 4) ** 2


def two_wells_in_a_plane(max_steps):
    """0.2 (x² − 4)² + y²: every level of the double well, plus 1, 3, 5, …"""
    operator = -ex.Laplacian() + ex.Potential(lambda x: well(x[0]) + x[1] ** 2)
    modes = ex.solve(operator, ex.Box(-6, 6, dims=2), n=4, max_steps=max_steps, progress=False)
    levels = line_energies(lambda x: well(x[0]), -6, 6, 6)
    return modes, np.sort((levels[:, None] + np.arange(1, 8, 2)).ravel())[:4]


@pytest.mark.slow
def test_two_wells_are_found_with_the_second_basis():
    modes, exact = two_wells_in_a_plane(2)
    assert np.abs(modes.eigenvalues / exact - 1).max() < 3e-5
    assert modes.steps == 2
    assert modes.stop_reason is ex.StopReason.MAX_STEPS


def test_standard_errors_cover_what_few_waves_cannot_be():
    modes, exact = two_wells_in_a_plane(1)
    errors = np.abs(modes.eigenvalues - exact)
    assert errors.max() > 1e-4  # far more than the scatter of points
    assert (errors < 3 * modes.standard_errors).all()
    assert np.median(modes.standard_errors) < 100 * np.median(errors)
    assert modes.stop_reason is ex.StopReason.MAX_STEPS


@pytest.mark.slow
def test_states_of_many_sizes_are_found():
    """A well that is soft in the middle and falls like 1/r: excited states are several times wider."""
    operator = -ex.Laplacian() + ex.Potential(lambda x: -2 / jnp.sqrt(jnp.sum(x**2) + 0.5))
    modes = ex.solve(operator, ex.Box(-20, 20, dims=2), n=3, max_steps=2, progress=False)
    assert modes.eigenvalues == pytest.approx([-1.07555717, -0.37780687, -0.37780687], rel=2e-4)


def oscillator(**settings):
    operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
    return ex.solve(operator, ex.Box(-6, 6), n=3, progress=False, **settings)


def test_a_tol_ends_the_bases_where_the_errors_are_within_it():
    modes = oscillator(tol=0.1)
    assert modes.steps == 1
    assert (modes.standard_errors <= 0.1 * scales(modes.eigenvalues, modes.standard_errors, None)).all()
    assert (np.abs(modes.eigenvalues - [1, 3, 5]) <= 0.1 * scales(modes.eigenvalues, modes.standard_errors, None)).all()
    assert modes.stop_reason is ex.StopReason.TOL


def test_a_tol_that_no_basis_reaches_is_told():
    with pytest.warns(RuntimeWarning, match=r"tol = 1e-15 was not reached \(there is no further basis to try\)"):
        modes = oscillator(tol=1e-15, solver=ex.RayleighRitz(n_basis=24, max_basis=48))
    assert modes.steps == 2
    assert modes.stop_reason is ex.StopReason.LARGEST_BASIS

"""Rounds on potentials with several wells and scales: converged, and with honest errors while they are not."""

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.evaluation.line import line_energies


def well(x):
    return 0.2 * (x**2 - 4) ** 2


def two_wells_in_a_plane(steps):
    """0.2 (x² − 4)² + y²: every level of the double well, plus 1, 3, 5, …"""
    operator = -ex.Laplacian() + ex.Potential(lambda x: well(x[0]) + x[1] ** 2)
    modes = ex.solve(operator, ex.Box(-6, 6, dims=2), n=4, steps=steps, progress=False)
    levels = line_energies(lambda x: well(x[0]), -6, 6, 6)
    return modes, np.sort((levels[:, None] + np.arange(1, 8, 2)).ravel())[:4]


@pytest.mark.slow
def test_two_wells_are_found_in_the_second_round():
    modes, exact = two_wells_in_a_plane(2)
    assert np.abs(modes.eigenvalues / exact - 1).max() < 3e-5
    assert modes.stopped == "all steps are done"


def test_standard_errors_cover_what_few_waves_cannot_be():
    modes, exact = two_wells_in_a_plane(1)
    errors = np.abs(modes.eigenvalues - exact)
    assert errors.max() > 1e-4  # far more than the scatter of points
    assert (errors < 3 * modes.standard_errors).all()
    assert np.median(modes.standard_errors) < 100 * np.median(errors)


@pytest.mark.slow
def test_states_of_many_sizes_are_found():
    """A well that is soft in the middle and falls like 1/r: excited states are several times wider."""
    operator = -ex.Laplacian() + ex.Potential(lambda x: -2 / jnp.sqrt(jnp.sum(x**2) + 0.5))
    modes = ex.solve(operator, ex.Box(-20, 20, dims=2), n=3, steps=2, progress=False)
    assert modes.eigenvalues == pytest.approx([-1.07555717, -0.37780687, -0.37780687], rel=2e-4)


def test_a_tolerance_ends_the_rounds():
    operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
    modes = ex.solve(operator, ex.Box(-6, 6), n=3, tolerance=0.1, progress=False)
    assert modes.steps == 1
    assert (modes.residuals <= 0.1).all()
    assert modes.stopped == "the residuals are within the tolerance"

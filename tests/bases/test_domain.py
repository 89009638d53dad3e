"""Bases on potentials with several wells and scales: converged, and with honest errors while they are not."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import eigenax as ex
from eigenax.driver.stopping import scales
from eigenax.lab.spectra.line import line_energies
from eigenax.locate.diffusion_monte_carlo import Explored
from eigenax.locate.missed import look_around
from eigenax.measurement.solution import Solution
from eigenax.solvers.default_parts import network_key


def well(x):
    return 0.2 * (x**2 - 4) ** 2


@pytest.mark.slow
def test_two_wells_are_found_with_the_second_basis():
    """0.2 (x² − 4)² + y²: every level of the double well, plus 1, 3, 5, …"""
    operator = -ex.Laplacian() + ex.Potential(lambda x: well(x[0]) + x[1] ** 2)
    modes = ex.solve(operator, ex.Box(-6, 6, dims=2), n=4, max_steps=2, progress=False)
    levels = line_energies(lambda x: well(x[0]), -6, 6, 6)
    exact = np.sort((levels[:, None] + np.arange(1, 8, 2)).ravel())[:4]
    assert np.abs(modes.eigenvalues / exact - 1).max() < 3e-5
    assert modes.steps == 2
    assert modes.stop_reason is ex.StopReason.MAX_STEPS


@pytest.mark.slow
def test_states_of_many_sizes_are_found():
    """A well that is soft in the middle and falls like 1/r: excited states are several times wider."""
    operator = -ex.Laplacian() + ex.Potential(lambda x: -2 / jnp.sqrt(jnp.sum(x**2) + 0.5))
    modes = ex.solve(operator, ex.Box(-20, 20, dims=2), n=3, max_steps=2, progress=False)
    assert modes.eigenvalues == pytest.approx([-1.07555717, -0.37780687, -0.37780687], rel=2e-4)


OSCILLATOR = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))


def oscillator(**settings):
    return ex.solve(OSCILLATOR, ex.Box(-6, 6), n=3, progress=False, **settings)


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


def two_wells(x, offset=0.3):
    """Oscillators 8 apart, one of which begins higher than the other: states 1/2 and 1/2 + offset, each once."""
    return jnp.minimum((x[0] - 4) ** 2, (x[0] + 4) ** 2 + 2 * offset) / 2


def test_states_of_a_well_that_is_less_deep_are_not_missed():
    """Diffusion alone ends in the deeper one, and functions around that have none of the others."""
    operator = -0.5 * ex.Laplacian() + ex.Potential(two_wells)
    modes = ex.solve(operator, ex.Box(-10, 10), 4, tol=1e-3, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, [0.5, 0.8, 1.5, 1.8], rtol=1e-3)
    assert modes.stop_reason is ex.StopReason.TOL


WELLS = -0.5 * ex.Laplacian() + ex.Potential(
    lambda x: 0.25 * (x[0] ** 2 - 6) ** 2 + 0.05 * x[0] + 0.5 * jnp.sum(x[1:] ** 2)
)
"""Two wells of nearly the same depth: each level of one is beside one of the other."""


def levels_of_wells():
    levels = line_energies(lambda x: (0.5 * (x**2 - 6) ** 2 + 0.1 * x).sum(), -6, 6, 4) / 2
    return np.sort((levels[:, None] + [0.5, 1.5]).ravel())[:4]


def test_standard_errors_cover_what_few_waves_cannot_be():
    modes = ex.solve(WELLS, ex.Box(-6, 6, dims=2), 4, max_steps=1, progress=False)
    errors = np.abs(modes.eigenvalues - levels_of_wells())
    assert errors.max() > 1e-4  # far more than the scatter of points
    assert (errors < 3 * modes.standard_errors).all()
    assert np.median(modes.standard_errors) < 100 * np.median(errors)
    assert modes.stop_reason is ex.StopReason.MAX_STEPS


def test_both_wells_of_unequal_depth_are_in_the_spectrum():
    modes, exact = ex.solve(WELLS, ex.Box(-6, 6, dims=2), 4, tol=1e-3, progress=False), levels_of_wells()
    assert (np.abs(modes.eigenvalues - exact) < 3 * modes.standard_errors).all()
    np.testing.assert_allclose(modes.eigenvalues, exact, rtol=1e-3)
    assert not modes.note


def test_training_that_has_missed_a_well_says_so_and_how_far_off_that_makes_it():
    solver = ex.SpIN(batch=128, samples=2**12)
    with pytest.warns(RuntimeWarning, match=r"there is a state of about .* near x = \(-(3.9|4).*Stated errors tell"):
        modes = ex.solve(
            -0.5 * ex.Laplacian() + ex.Potential(two_wells),
            ex.Mixture(ex.Box(-10, 10), [ex.Box(-10, 10), ex.Gaussian(4.0, 1.0, dims=1)], [0.1, 0.9]),
            3,
            network=around_the_deeper_well(),
            solver=solver,
            max_steps=300,
            progress=False,
        )
    assert modes.eigenvalues[1] > 1.2
    assert (np.abs(modes.eigenvalues - [0.5, 0.8, 1.5]) < 3 * modes.standard_errors).all()
    assert modes.unconverged[1]
    assert modes.note in str(modes)


def around_the_deeper_well():
    """A network that has nothing of the other one."""
    return ex.Multiply(lambda x: jnp.exp(-((x[0] - 4) ** 2) / 2), ex.EnsembleMLP(1, 3, key=network_key(0)))


def test_a_ground_state_that_the_first_basis_has_missed_is_looked_for_again():
    """Walkers know where it is; waves that found the states of a softer well had forgotten that."""
    problem = ex.Problem.checked(-0.5 * ex.Laplacian() + ex.Potential(two_wells), ex.Box(-10, 10), 1)
    rng = np.random.default_rng(0)
    deeper, other = (rng.normal(middle, 0.4, (256, 1)) for middle in (4, -4))
    walked = Explored(deeper, np.ones(256), other[:64], other[64:128])
    found = Solution(np.array([0.8]), np.ones((1, 1)), *np.full((3, 1), 1e-6), 1.8)
    states = eqx.Partial(lambda x: jnp.exp(-((x + 4) ** 2) / 2))
    look = look_around(problem, states, found, problem.source, walked, thorough=False)
    assert len(look.empty) > 100
    assert (look.empty > 0).all()


def prinz(x):
    """The four wells of Prinz in one dimension."""
    bumps = ((0.8, 0.0, 80), (0.2, 0.5, 80), (0.5, -0.5, 40))
    return 4 * (x**8 + sum(height * jnp.exp(-rate * (x - middle) ** 2) for height, middle, rate in bumps))


def prinz_as_hamiltonian(x):
    """Its diffusion as a Schrödinger operator, whose first value is zero."""
    slope = jax.grad(prinz)
    return slope(x[0]) ** 2 / 4 - jax.grad(slope)(x[0]) / 2


TOO_SMALL = {
    "diffusion": (-ex.Laplacian() + ex.Potential(prinz_as_hamiltonian), ex.Box(-1.7, 1.7), [0, 1.198994]),
    "jump": (
        -ex.Laplacian() + ex.Potential(lambda x: jnp.where(jnp.abs(x[0]) < 1, -50.0, 0.0)),
        ex.Box(-6, 6),
        [-48.10915, -42.47490],
    ),
    "undeclared singularity": (
        -0.5 * ex.Laplacian() + ex.Potential(lambda x: -1 / jnp.linalg.norm(x)),
        ex.Box(-18, 18, dims=2),
        [-2, -2 / 9],
    ),
    "many dimensions": (
        -0.5 * ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**4 / 4 - x**2)),
        ex.Box(-5, 5, dims=8),
        [-2.396171, -2.050278],
    ),
}


@pytest.mark.parametrize(
    "name",
    ["diffusion", "jump", *(pytest.param(name, marks=pytest.mark.slow) for name in list(TOO_SMALL)[2:])],
)
def test_stated_errors_cover_what_a_basis_that_is_too_small_misses(name):
    operator, box, exact = TOO_SMALL[name]
    solver = ex.RayleighRitz(n_basis=40, samples=2**11)
    with pytest.warns(RuntimeWarning):
        modes = ex.solve(operator, box, 2, solver=solver, max_steps=1, progress=False)
    errors = np.abs(modes.eigenvalues - exact)
    assert errors.max() > 1e-3
    assert (errors < 3 * modes.standard_errors).all()
    assert modes.unconverged.any()


def mueller_brown(x):
    """The three wells of Müller and Brown."""
    height, middles = (-200.0, -100.0, -170.0, 15.0), ((1, 0), (0, 0.5), (-0.5, 1.5), (-1, 1))
    shapes = ((-1, 0, -10), (-1, 0, -10), (-6.5, 11, -6.5), (0.7, 0.6, 0.7))
    away = [(x[0] - a, x[1] - b) for a, b in middles]
    forms = [a * u**2 + b * u * v + c * v**2 for (u, v), (a, b, c) in zip(away, shapes, strict=True)]
    return sum(each * jnp.exp(form) for each, form in zip(height, forms, strict=True))


@pytest.mark.slow
def test_the_slow_mode_of_a_curved_and_a_narrow_well_is_kept():
    """Diffusion at kT = 10 as a Schrödinger operator: its first value is zero, the next is how often wells are left."""
    beta = 0.1

    def potential(x):
        slope, bend = jax.grad(mueller_brown)(x), jax.hessian(mueller_brown)(x)
        return beta * jnp.sum(slope**2) / 4 - jnp.trace(bend) / 2

    with pytest.warns(RuntimeWarning, match="1024 functions are too few"):
        modes = ex.solve(
            -ex.Laplacian() / beta + ex.Potential(potential), ex.Box((-1.8, -0.8), (1.4, 2.2)), 3, progress=False
        )
    errors = np.abs(modes.eigenvalues - [0, 0.19994, 41.3218])
    assert (errors < 3 * modes.standard_errors).all()
    assert (errors < 0.5).all()
    assert modes.unconverged.all()


def test_narrow_wells_at_opposite_walls_are_both_found():
    well = ex.Potential(lambda x: -500 * jnp.abs(x[0]) ** 3 - x[0])
    modes = ex.solve(-ex.Laplacian() + well, ex.Box(-4, 4), 2, tol=1e-3, progress=False)
    x, step = np.linspace(-4, 4, 40_001, retstep=True)
    diagonal = 2 / step**2 - 500 * np.abs(x[1:-1]) ** 3 - x[1:-1]
    exact = scipy.linalg.eigh_tridiagonal(
        diagonal, np.full(len(diagonal) - 1, -1 / step**2), eigvals_only=True, select="i", select_range=(0, 1)
    )
    assert (np.abs(modes.eigenvalues - exact) < 3 * modes.standard_errors + 0.01).all()
    assert (modes.standard_errors < 0.001 * np.abs(exact)).all()

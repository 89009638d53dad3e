"""Rayleigh–Gauss–Newton on Markov chains: anharmonic oscillators in five dimensions, whose levels are known."""

import os
import signal
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.lab.baselines.vibrational_ci import vibrational_ci
from eigenax.lab.polynomial import Polynomial
from eigenax.locate.holes import with_holes
from eigenax.solvers.span_measurement import slopes_of_values

DIMS, STATES, QUARTIC = 5, 3, 0.02
MATRIX = np.diag([0.5, 1.0, 1.5, 2.0, 2.5]) + 0.1
BOX = ex.Box(-8, 8, dims=DIMS)
OPERATOR = -0.5 * ex.Laplacian() + ex.Potential(
    lambda x: x @ jnp.asarray(MATRIX.tolist(), x.dtype) @ x / 2 + QUARTIC * jnp.sum(x**4)
)


def solved(**kwargs):
    solver = ex.RayleighGaussNewton(batch=256, samples=2**12, log_every=8)
    return ex.solve(OPERATOR, BOX, STATES, solver=solver, max_steps=24, progress=False, **kwargs)


@pytest.fixture(scope="module")
def modes(tmp_path_factory):
    """The result of a run that was interrupted and resumed."""

    def press_ctrl_c(now):
        if now.step == 8:
            os.kill(os.getpid(), signal.SIGINT)

    folder = tmp_path_factory.mktemp("run")
    with pytest.raises(ex.InterruptedRun, match="stopped at step 8 of 24"):
        solved(checkpoint_dir=folder, callbacks=[press_ctrl_c])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return solved(checkpoint_dir=folder)


@pytest.fixture(scope="module")
def exact():
    terms = [(MATRIX[i, j] / 2, (i, j)) for i in range(DIMS) for j in range(DIMS)]
    potential = Polynomial.of(terms + [(QUARTIC, (i,) * 4) for i in range(DIMS)], dims=DIMS)
    return vibrational_ci(potential, n=STATES, quanta=12).values


def test_levels_are_right_within_small_errors_and_so_are_excitations(modes, exact):
    off = np.abs(modes.eigenvalues - exact)
    assert (off < 4 * modes.standard_errors).all()
    assert (off < 2e-3 * exact).all()
    assert not modes.unconverged.any()
    found = modes.excitations
    assert (np.abs(found.values - (exact[1:] - exact[0])) < 4 * found.standard_errors).all()
    # What all states share cancels in differences.
    assert (found.standard_errors < np.hypot(modes.standard_errors[1:], modes.standard_errors[0])).all()


def test_an_interrupted_run_has_the_bits_of_a_whole_one(modes):
    whole = solved()
    np.testing.assert_array_equal(whole.eigenvalues, modes.eigenvalues)
    np.testing.assert_array_equal(whole.coefficients, modes.coefficients)


def test_functions_are_orthonormal_over_the_box_and_saved_with_their_chains(modes, tmp_path):
    overlaps = modes.matrix_elements(lambda x: jnp.ones(()), samples=2**13)
    np.testing.assert_allclose(overlaps.values, np.eye(STATES), atol=0.06)
    # The ground state of oscillators that are hardly anharmonic, at the centre, where ∫ v² dx = volume.
    sizes, axes = np.linalg.eigh(MATRIX)
    gaussian = np.prod(np.sqrt(sizes) / np.pi) ** 0.25 * np.sqrt(BOX.volume)
    assert abs(modes(np.zeros((1, DIMS)))[0, 0] / gaussian - 1) < 0.1
    assert len(axes) == DIMS
    modes.save(tmp_path / "modes.safetensors")
    again = ex.load(tmp_path / "modes.safetensors")
    x = np.random.default_rng(0).normal(size=(5, DIMS))
    np.testing.assert_array_equal(again(x), modes(x))
    np.testing.assert_array_equal(again.excitations.standard_errors, modes.excitations.standard_errors)
    drawn = again.matrix_elements(lambda x: x[0], samples=2**10)
    assert np.isfinite(drawn.values).all()


def test_a_hole_of_the_potential_is_named_and_is_in_the_errors(modes):
    def deep_corner(x):
        return -2000 * jnp.exp(-jnp.sum((x - 6) ** 2) / 8)

    problem = ex.Problem.checked(OPERATOR + ex.Potential(deep_corner), BOX, STATES)
    told = with_holes(problem, modes)
    assert "hole at x = (" in told.note
    assert (told.basis_errors > 50).all()
    assert with_holes(ex.Problem.checked(OPERATOR, BOX, STATES), modes).note == ""


def test_slopes_are_those_along_the_training_and_unknown_without_one():
    squares = np.geomspace(10, 0.1, 12)[:, None] * np.ones(3)
    values = np.array([1.0, 2.0, 3.0]) + np.array([0.1, 0.2, -0.5]) * squares
    np.testing.assert_allclose(slopes_of_values(values, squares, np.full(3, 0.1)), [0.1, 0.2, 0.1])
    assert np.isnan(slopes_of_values(values, np.full((12, 3), np.nan), np.full(3, 0.1))).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time": 0.0}, "time must be positive"),
        ({"damping": -1.0}, "damping must be positive"),
        ({"momentum": 1.0}, "momentum must be at least 0 and below 1"),
        ({"trust": 0.0}, "trust must be positive"),
        ({"spare": -1}, "spare must be at least 0"),
        ({"batch": 0}, "batch must be a whole number"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        ex.RayleighGaussNewton(**arguments)


def test_operators_that_are_not_local_are_refused():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    problem = ex.Problem.checked(kernel, ex.Gaussian(0.0, 1.0, dims=2), 2, which="largest")
    assert "not local" in ex.RayleighGaussNewton().why_not(problem)

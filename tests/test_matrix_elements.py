"""Matrix elements: their errors tell of functions that are not exact, on problems whose elements are known."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from scipy.integrate import quad

import eigenax as ex

WELL = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
LINE = ex.Box(-6, 6, dims=1)
PLACE = np.diag(np.sqrt(np.arange(1, 9) / 2), 1) + np.diag(np.sqrt(np.arange(1, 9) / 2), -1)
"""⟨v_i|x|v_j⟩ of the oscillator."""


def with_waves(count):
    return ex.solve(WELL, LINE, 3, solver=ex.RayleighRitz(n_basis=count, max_basis=count), progress=False)


def trained(steps):
    return ex.solve(WELL, LINE, 3, solver=ex.SpIN(samples=2**13, finish="eigh"), max_steps=steps, progress=False)


def off(elements, exact):
    """How far sizes are from exact ones, and by how many stated errors; signs of functions are free."""
    distance = np.abs(np.abs(elements.values) - np.abs(exact))
    return distance, distance / elements.standard_errors


@pytest.fixture(scope="module")
def seven():
    return with_waves(7)


@pytest.mark.parametrize(("name", "least"), [("7 waves", 1e-3), ("30 steps", 0.1)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_cover_elements_of_functions_that_have_not_converged(name, least, seven):
    modes = seven if name == "7 waves" else trained(30)
    for power in (1, 2):
        found = modes.matrix_elements(lambda x, power=power: x[0] ** power, samples=2**14)
        distance, times = off(found, np.linalg.matrix_power(PLACE, power)[:3, :3])
        assert distance.max() > least
        assert times.max() < 3
        assert np.median(times) > 0.03


@pytest.mark.slow
def test_errors_of_what_has_converged_are_small_and_cover_it_too():
    modes = ex.solve(-ex.Laplacian(), ex.Box(0, 1, dims=1), 3, tol=1e-3, progress=False)
    m, n = np.meshgrid(np.arange(1, 4), np.arange(1, 4))
    apart = np.where(m == n, 1, m**2 - n**2)
    exact = np.where(m == n, 0.5, np.where((m + n) % 2, -8 * m * n / np.pi**2 / apart**2, 0))
    found = modes.matrix_elements(lambda x: x[0])
    _, times = off(found, exact)
    assert times.max() < 3
    assert found.standard_errors.max() < 1e-3


@pytest.mark.slow
def test_of_functions_of_one_level_of_hydrogen_the_sum_of_squares_is_covered():
    atom = -ex.Laplacian() + ex.Potential(lambda x: -1 / jnp.linalg.norm(x), singularities=[(0.0, 0.0)])
    modes = ex.solve(atom, ex.Box(-80, 80, dims=2), 4, tol=1e-2, progress=False)
    found = modes.matrix_elements(lambda x: x[0])
    ground, other = (lambda r: np.exp(-r)), (lambda r: r * np.exp(-r / 3))
    overlap, first, second = (
        quad(integrand, 0, 300)[0]
        for integrand in (
            lambda r: ground(r) * other(r) * r**2,
            lambda r: ground(r) ** 2 * r,
            lambda r: other(r) ** 2 * r,
        )
    )
    exact = overlap / np.sqrt(2 * first * second)
    assert abs(np.linalg.norm(found.values[0, 1:]) - exact) < 3 * np.linalg.norm(found.standard_errors[0, 1:])
    assert np.linalg.norm(found.standard_errors[0, 1:]) < 0.2 * exact


def test_elements_at_nodes_of_a_graph_are_exact_up_to_rounding():
    count = 30
    path = ex.Graph([(k, k + 1) for k in range(count - 1)], features=np.arange(count)[:, None])
    found = ex.solve(ex.GraphLaplacian(), path, 3, progress=False).matrix_elements(lambda x: x[0], source=path)
    places = np.arange(count)
    waves = np.sqrt([1, 2, 2]) * np.cos(np.pi * np.arange(3) * (places[:, None] + 0.5) / count)
    _, times = off(found, waves.T @ (places[:, None] * waves) / count)
    assert times.max() < 3
    assert found.standard_errors.max() < 1e-4


def test_errors_of_trained_functions_of_a_kernel_cover_those_of_the_dense_matrix():
    rows = np.random.default_rng(0).normal(size=(200, 2))
    source, kernel = ex.Arrays(rows), ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
    solver = ex.SpIN(samples=2**12)
    modes = ex.solve(kernel, source, 3, which="largest", solver=solver, max_steps=50, progress=False)
    found = modes.matrix_elements(lambda x: x[0], source=source, samples=2**14)
    matrix = np.exp(-((rows[:, None] - rows) ** 2).sum(-1) / 2)
    v = np.linalg.eigh(matrix)[1][:, :-4:-1]
    distance, times = off(found, v.T @ (rows[:, :1] * v))
    assert distance.max() > 0.02
    assert times.max() < 3


def test_a_number_is_known_exactly_however_bad_the_functions_are(seven):
    found = seven.matrix_elements(lambda x: 7.0 + 0 * x[0], samples=2**14)
    assert (np.abs(found.values - 7 * np.eye(3)) < 3 * found.standard_errors).all()
    assert found.standard_errors.max() < 0.1


def test_where_residuals_are_not_known_eigenvalues_tell_and_where_nothing_is_errors_are_nan(seven):
    unknown = np.full(3, np.nan)
    without = dataclasses.replace(seven, residuals=unknown)
    _, times = off(without.matrix_elements(lambda x: x[0], samples=2**14), PLACE[:3, :3])
    assert times.max() < 3
    nothing = dataclasses.replace(without, basis_errors=unknown)
    assert np.isnan(nothing.matrix_elements(lambda x: x[0], samples=2**14).standard_errors).all()


def test_fits_to_eigenvectors_of_a_graph_have_errors_of_the_fits():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    rows = np.stack([np.cos(angle), np.sin(angle)], 1) + 0.1 * rng.normal(size=(200, 2))
    edges = np.exp(-((rows[:, None] - rows) ** 2).sum(-1) / 0.1) - np.eye(200)
    graph = ex.Graph(scipy.sparse.csr_array(edges), features=rows)
    solver = ex.RayleighRitz(basis=ex.SoftmaxCells(cells=12))
    modes = ex.solve(ex.GraphLaplacian(), graph, 5, solver=solver, progress=False)
    assert modes.missed.max() > 1e-3
    exact = np.linalg.eigh(np.diag(edges.sum(1)) - edges)[1][:, :5] * np.sqrt(200)
    found = modes.matrix_elements(lambda x: x[0], source=ex.Arrays(rows))
    expected = np.abs(exact.T @ (rows[:, :1] * exact) / 200)
    wrong = np.abs(np.abs(found.values) - expected)
    assert (wrong[1:, 1:] < 3 * found.standard_errors[1:, 1:]).all()
    assert wrong.max() > 1e-3
    assert found.standard_errors.max() < 0.3

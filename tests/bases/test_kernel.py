"""Eigenfunctions of kernels without training, against closed forms and dense matrices."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

import eigenax as ex
from eigenax.bases import kernel
from eigenax.lab.spectra.mercer import polynomial_spectrum, rbf_modes, rbf_spectrum
from eigenax.sources.uniform import Distribution

RNG = np.random.default_rng(0)
RBF = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
CUBIC = ex.Kernel(lambda x, y: (1 + jnp.sum(x * y)) ** 3)
LINE = ex.Gaussian(0.0, 1.0)


def solved(operator, source, n, which="largest", solver=None, seed=0):
    solver = solver or ex.RayleighRitz()
    return ex.solve(operator, source, n, which=which, solver=solver, seed=seed, progress=False)


def relative(modes, exact):
    return np.abs(modes.eigenvalues / exact - 1)


def dense(rows, length=1.0):
    x = np.asarray(rows, np.float32).astype(float)
    return np.exp(-((x[:, None] - x) ** 2).sum(-1) / (2 * length**2)) / len(x)


@pytest.mark.parametrize("seed", range(3))
def test_ten_modes_on_a_line_are_exact_to_rounding(seed):
    modes = solved(RBF, LINE, 10, seed=seed)
    exact = rbf_spectrum(10)
    assert relative(modes, exact).max() < 1e-5
    assert (np.abs(modes.eigenvalues - exact) < 4 * modes.standard_errors).all()
    assert not modes.unconverged.any()
    x = np.linspace(-3.5, 3.5, 101)[:, None]
    learned, closed = np.asarray(modes(x)), rbf_modes(x, 10).functions
    np.testing.assert_allclose(learned * np.sign((learned * closed).sum(0)), closed, atol=2e-3)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_ten_modes_in_the_plane(seed):
    modes = solved(RBF, ex.Gaussian(0.0, 1.0, dims=2), 10, seed=seed)
    exact = rbf_spectrum(10, dims=2)
    assert relative(modes, exact).max() < 1e-4
    assert (np.abs(modes.eigenvalues - exact) < 5 * modes.standard_errors).all()


def test_units_do_not_matter():
    small = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2e-6))
    modes = solved(small, ex.Gaussian(5.0, 1e-3), 6)
    assert relative(modes, rbf_spectrum(6)).max() < 1e-5


def test_a_polynomial_kernel():
    modes = solved(CUBIC, ex.Gaussian(0.0, 1.0, dims=2), 10)
    assert relative(modes, polynomial_spectrum(10, 3, dims=2)).max() < 1e-4


def test_brownian_motion_on_a_box():
    modes = solved(ex.Kernel(lambda x, y: jnp.minimum(x, y)[0]), ex.Box(0, 1), 5)
    assert relative(modes, 4 / (np.pi * (2 * np.arange(5) + 1)) ** 2).max() < 1e-3
    assert modes.source == ex.Uniform(ex.Box(0, 1))


def test_rows_of_data_give_the_dense_matrix():
    rows = RNG.normal(size=(2500, 2))
    modes = solved(RBF, ex.Arrays(rows), 10)
    matrix = dense(rows)
    exact = eigsh(matrix, 10, which="LA", return_eigenvectors=False)[::-1]
    assert relative(modes, exact).max() < 1e-4
    v = np.asarray(modes(rows), float)
    np.testing.assert_allclose(v.T @ v / len(v), np.eye(10), atol=1e-4)
    applied = matrix @ v
    left = np.sqrt(((applied - v * modes.eigenvalues) ** 2).mean(0))
    np.testing.assert_allclose(left, modes.residuals, rtol=0.5, atol=1e-6)


def test_few_rows_give_every_eigenvalue():
    rows = RNG.normal(size=(12, 3))
    modes = solved(RBF, ex.Arrays(rows), 12)
    np.testing.assert_allclose(modes.eigenvalues, np.linalg.eigvalsh(dense(rows))[::-1], rtol=1e-6)


def test_many_rows_are_taken_in_subsets_whose_scatter_is_the_error(monkeypatch):
    monkeypatch.setattr(kernel, "ALL_PAIRS", 1000)
    monkeypatch.setattr(kernel, "SUBSET", 1000)
    rows = RNG.normal(size=(5000, 1))
    modes = solved(RBF, ex.Arrays(rows), 3)
    exact = eigsh(dense(rows), 3, which="LA", return_eigenvectors=False)[::-1]
    assert (np.abs(modes.eigenvalues - exact) < 6 * modes.standard_errors).all()
    assert (modes.standard_errors < 0.05 * exact).all()


def test_a_source_of_its_own_is_measured_with_its_scatter(monkeypatch):
    monkeypatch.setattr(kernel, "SIZES", (1024,))

    class Walk(ex.Source):
        @property
        def shape(self):
            return (1,)

        def sample(self, key, size):
            return Distribution(LINE).sample(key, size)

    modes = solved(RBF, Walk(), 3)
    assert relative(modes, rbf_spectrum(3)).max() < 0.1
    assert (np.abs(modes.eigenvalues - rbf_spectrum(3)) < 6 * modes.standard_errors).all()


def test_the_solver_says_how_many_waves_there_are_at_most():
    source = ex.Arrays(np.random.default_rng(0).normal(size=(200, 3)))
    modes = solved(RBF, source, 4, solver=ex.RayleighRitz(n_basis=20, max_basis=40))
    assert len(modes.coefficients) - 1 <= 40


def test_numbers_times_kernels_and_the_other_end():
    both = 2 * RBF - 0.5 * ex.Kernel(lambda x, y: jnp.ones(()))
    assert both.integral
    assert not (RBF + ex.Potential(jnp.sum)).integral
    modes = solved(-2 * RBF, LINE, 3, which="smallest")
    np.testing.assert_allclose(modes.eigenvalues, -2 * rbf_spectrum(3), rtol=1e-5)
    assert solved(both, LINE, 1, which="smallest").eigenvalues[0] < 0


def test_the_result_is_kept_and_repeats(tmp_path):
    first, second = (solved(RBF, LINE, 3, seed=4) for _ in range(2))
    np.testing.assert_array_equal(first.eigenvalues, second.eigenvalues)
    x = np.array([[0.3], [-2.0]])
    first.save(tmp_path / "modes.safetensors")
    np.testing.assert_array_equal(ex.load(tmp_path / "modes.safetensors")(x), first(x))
    np.testing.assert_allclose(first.matrix_elements(lambda x: jnp.ones(())).values, np.eye(3), atol=0.02)


LOPSIDED = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum(x - y)))
HOLE = ex.Kernel(lambda x, y: jnp.where((x[0] > 1) & (y[0] > 1), jnp.nan, 1.0))


@pytest.mark.parametrize(
    ("operator", "source", "n", "which", "words"),
    [
        (HOLE, LINE, 2, "largest", "returned NaN or infinity"),
        (LOPSIDED, LINE, 2, "largest", "not symmetric.*Symmetrise it"),
        (RBF, ex.Arrays(np.repeat(np.eye(3), 50, 0)), 4, "largest", "n = 4 functions.*on 3 different rows"),
        (CUBIC, LINE, 5, "largest", "has 4 eigenvalues above zero.*n is 5: ask for at most 4"),
        (RBF, LINE, 60, "largest", r"has \d+ eigenvalues above zero.*up to rounding"),
        (RBF, LINE, 3, "smallest", "no eigenvalues below zero.*which='largest'"),
        (RBF, ex.Arrays(np.zeros((9, 3, 4, 4))), 1, "largest", "takes .*on rows of numbers or a density"),
    ],
)
def test_what_cannot_be_solved_is_told_in_a_sentence(operator, source, n, which, words):
    with pytest.raises(ValueError, match=words):
        solved(operator, source, n, which=which)


def test_another_operator_is_refused():
    with pytest.raises(ValueError, match=r"takes .*Kernel, or a sum of them.* Give another solver"):
        solved(RBF + ex.Potential(lambda x: x[0]), LINE, 1)


def test_a_kink_where_points_meet_is_in_the_errors():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum(jnp.abs(x - y))))
    modes = solved(kernel, ex.Box(-1, 1), 4)
    nodes, weights = np.polynomial.legendre.leggauss(1000)
    roots = np.sqrt(weights / 2)
    exact = eigsh(roots[:, None] * np.exp(-np.abs(nodes[:, None] - nodes)) * roots, 4, return_eigenvectors=False)[::-1]
    bias = 3e-7  # of that matrix, which has the kink as well
    wrong = np.abs(modes.eigenvalues - exact)
    assert (wrong < 3 * modes.standard_errors + bias).all()
    assert (modes.standard_errors > 1e-8).all()
    assert (modes.standard_errors < 1e-5).all()


def test_pairs_of_a_row_with_itself_count_as_often_in_subsets_as_in_all_rows(monkeypatch):
    rows = RNG.normal(size=(1500, 1))
    with_itself = ex.Kernel(lambda x, y: jnp.where(x[0] == y[0], 300.0, 0.0) + 1)
    monkeypatch.setattr(kernel, "ALL_PAIRS", 1000)
    monkeypatch.setattr(kernel, "SUBSET", 500)
    modes = solved(with_itself, rows, 3)
    np.testing.assert_allclose(modes.eigenvalues, [1.2, 0.2, 0.2], rtol=0.01)

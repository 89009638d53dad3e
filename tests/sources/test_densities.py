"""Gaussian and LogUniformRadius: normalised, and the densities that uniform numbers are placed with."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import eigenax as ex

SIZE = 20_000
SURFACE = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi, 5: 8 * np.pi**2 / 3}
CENTRES = {1: (0.3,), 2: (0.5, -1.0), 3: (0.2, 0.0, -0.7), 5: (0.1, 0.0, 0.3, -0.5, 0.0)}
INNER, OUTER = 0.02, 30.0
MEAN = np.array([1.0, -2.0, 0.5])
COVARIANCE = np.array([[2.0, -0.6, 0.3], [-0.6, 0.5, 0.1], [0.3, 0.1, 1.5]])


def place(density, size=SIZE, seed=0):
    """Points that random numbers stand for."""
    uniform = np.random.default_rng(seed).uniform(2.0**-24, 1 - 2.0**-24, (size, density.n_uniforms))
    return np.asarray(jax.jit(lambda u: density.icdf(u))(jnp.asarray(uniform, float)), np.float64)


def at(density, x):
    return np.asarray(jax.jit(lambda x: density.density(x))(jnp.asarray(x)), np.float64)


@cache
def offsets(dims):
    """Points of LogUniformRadius, measured from the centre."""
    return place(ex.LogUniformRadius(INNER, OUTER, CENTRES[dims]), seed=dims) - CENTRES[dims]


def shells(dims, r):
    """The density of the radius: that at r along some direction, times the surface of the sphere."""
    direction = np.random.default_rng(dims).normal(size=dims)
    x = np.asarray(CENTRES[dims]) + r[:, None] * direction / np.linalg.norm(direction)
    return SURFACE[dims] * r ** (dims - 1) * at(ex.LogUniformRadius(INNER, OUTER, CENTRES[dims]), x)


@pytest.mark.parametrize(
    ("gaussian", "covariance"),
    [
        (ex.Gaussian(MEAN.tolist(), COVARIANCE), COVARIANCE),
        (ex.Gaussian(MEAN.tolist(), [0.5, 1.0, 3.0]), np.diag([0.25, 1.0, 9.0])),
        (ex.Gaussian(MEAN.tolist(), 0.7), 0.49 * np.eye(3)),
    ],
    ids=["covariance", "one for each axis", "one for all axes"],
)
def test_a_gaussian_has_its_moments_and_its_density(gaussian, covariance):
    assert gaussian.shape == (3,)
    assert gaussian.n_uniforms == 3
    x = place(gaussian)
    spread = np.sqrt(np.diag(covariance))
    error = 4.5 / np.sqrt(SIZE)
    np.testing.assert_allclose((x.mean(0) - MEAN) / spread, 0, atol=error)
    got = np.cov(x.T) / np.outer(spread, spread)
    np.testing.assert_allclose(got, covariance / np.outer(spread, spread), atol=1.5 * error)
    expected = scipy.stats.multivariate_normal(MEAN, covariance).pdf(x[:200])
    np.testing.assert_allclose(at(gaussian, x[:200].astype(np.float32)), expected, rtol=2e-4)


@pytest.mark.usefixtures("float64")
def test_the_density_of_a_gaussian_integrates_to_one():
    gaussian = ex.Gaussian([0.3, -0.2], np.array([[1.0, 0.8], [0.8, 1.0]]))
    axis = np.linspace(-9, 9, 301)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    assert at(gaussian, grid).sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1, abs=1e-9)


def test_one_mean_serves_all_axes():
    assert tuple(ex.Gaussian(1.5, 1.0, dims=2).mean) == (1.5, 1.5)
    assert tuple(ex.Gaussian(1.5, [1.0, 2.0, 3.0]).mean) == (1.5, 1.5, 1.5)
    assert tuple(ex.Gaussian(1.5, np.eye(2)).mean) == (1.5, 1.5)
    assert ex.Gaussian(1.5, 1.0).shape == (1,)


@pytest.mark.parametrize("spread", [0.0, -1.0, float("nan"), [1.0, 0.0], [1.0, -1.0]])
def test_spreads_must_be_positive(spread):
    with pytest.raises(ValueError, match="spread must be positive"):
        ex.Gaussian(0.0, spread)


@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]], [[0.0, 0.0], [0.0, 0.0]]])
def test_covariances_must_be_positive_definite(matrix):
    with pytest.raises(ValueError, match="a positive definite covariance; got"):
        ex.Gaussian(0.0, np.array(matrix))


def test_means_and_spreads_must_have_the_same_axes():
    with pytest.raises(ValueError, match="mean has 2 values, but dims is 3"):
        ex.Gaussian([0.0, 1.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="mean has 2 values, but dims is 3"):
        ex.Gaussian([0.0, 1.0], np.eye(3))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("dims", CENTRES)
def test_the_density_of_scales_integrates_to_one_up_to_its_outer_radius(dims):
    edges = np.concatenate([[0], np.geomspace(INNER / 10, OUTER, 30)])
    nodes, weights = np.polynomial.legendre.leggauss(10)
    r = edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2
    integral = (shells(dims, r.ravel()).reshape(r.shape) * weights * np.diff(edges)[:, None] / 2).sum()
    assert integral == pytest.approx(1, abs=1e-9)
    np.testing.assert_array_equal(shells(dims, np.array([1.001 * OUTER, 100 * OUTER])), 0)


@pytest.mark.parametrize("dims", CENTRES)
def test_scales_have_as_many_points_at_every_scale(dims):
    r = np.linalg.norm(offsets(dims), axis=1)
    octaves = np.log1p(r / INNER) / np.log1p(OUTER / INNER)
    assert (octaves <= 1 + 1e-5).all()
    counts, _ = np.histogram(octaves, bins=20, range=(0, 1))
    np.testing.assert_allclose(counts, SIZE / 20, atol=4.5 * np.sqrt(SIZE / 20))
    assert scipy.stats.kstest(octaves, "uniform").pvalue > 0.01


@pytest.mark.parametrize("dims", CENTRES)
def test_scales_prefer_no_direction(dims):
    direction = offsets(dims) / np.linalg.norm(offsets(dims), axis=1, keepdims=True)
    np.testing.assert_allclose(direction.mean(0), 0, atol=4.5 / np.sqrt(SIZE))
    np.testing.assert_allclose(direction.T @ direction / SIZE, np.eye(dims) / dims, atol=4.5 / np.sqrt(SIZE))


@pytest.mark.parametrize("dims", CENTRES)
def test_one_over_the_density_of_scales_undoes_the_placing(dims):
    offset = offsets(dims)
    density = at(ex.LogUniformRadius(INNER, OUTER, CENTRES[dims]), (offset + CENTRES[dims]).astype(np.float32))
    estimate = np.exp(-((offset - 0.2) ** 2).sum(1)) / density
    error = estimate.std() / np.sqrt(SIZE)
    assert error < 0.05 * np.pi ** (dims / 2)
    assert estimate.mean() == pytest.approx(np.pi ** (dims / 2), abs=4.5 * error)


@pytest.mark.parametrize("centre", [0.0, 1.0, 37.0])
@pytest.mark.parametrize("x64", [False, True])
def test_the_first_points_of_scales_keep_off_the_centre(x64, centre):
    # The least numbers of the lattice, and in single precision also of independent points.
    first = [2.0**-33, 2.0**-32] if x64 else [2.0**-25, np.finfo(np.float32).tiny]
    with jax.enable_x64(x64):
        uniform = np.full((98, 2), np.linspace(0.01, 0.99, 98)[:, None])
        uniform[:, 0] = np.repeat(first, 49)
        density = ex.LogUniformRadius(0.01, 20.0, centre, dims=2)
        x = density.icdf(jnp.asarray(uniform, float))
        assert (x != centre).any(1).all()
        assert np.isfinite(density.density(x)).all()


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("centre", [0.0, 37.0])
def test_the_last_points_of_scales_have_a_density(x64, centre):
    bits = 32 if x64 else 24
    with jax.enable_x64(x64):
        uniform = np.full((2000, 2), np.linspace(0.01, 0.99, 2000)[:, None])
        uniform[:, 0] = 1 - np.resize([2.0**-bits, 2.0 ** (1 - bits)], 2000)
        for inner, outer in ((0.01, 20.0), (0.5, 3.3), (1.0, 2.0)):
            density = ex.LogUniformRadius(inner, outer, centre, dims=2)
            assert (density.density(density.icdf(jnp.asarray(uniform, float))) > 0).all()


@pytest.mark.parametrize(("inner", "outer"), [(0.0, 1.0), (-1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (float("nan"), 1.0)])
def test_scales_must_be_in_order(inner, outer):
    with pytest.raises(ValueError, match=f"0 < inner < outer; got {inner} and {outer}"):
        ex.LogUniformRadius(inner, outer)


def test_centres_must_have_the_dimensions_asked_for():
    assert ex.LogUniformRadius(0.1, 1.0, 2.0, dims=3).centre == (2.0, 2.0, 2.0)
    with pytest.raises(ValueError, match="centre has 2 values, but dims is 3"):
        ex.LogUniformRadius(0.1, 1.0, [0.0, 1.0], dims=3)

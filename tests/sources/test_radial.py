"""The radial density: normalised, and the one that is drawn from."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import eigenax as ex
from eigenax.core.lattice import independent

CENTRES = {1: (0.3,), 2: (0.5, -1.0), 3: (0.2, 0.0, -0.7), 5: (0.1, 0.0, 0.3, -0.5, 0.0)}
SURFACE = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi, 5: 8 * np.pi**2 / 3}
SCALE, SIZE = 0.7, 40_000


def along_a_ray(dims, r):
    """The density at distances r from the centre, in some direction."""
    direction = np.random.default_rng(dims).normal(size=dims)
    x = np.asarray(CENTRES[dims]) + r[:, None] * direction / np.linalg.norm(direction)
    return np.asarray(ex.Radial(SCALE, CENTRES[dims]).density(jnp.asarray(x)))


def draw(radial, seed):
    place = jax.jit(lambda key: radial.icdf(independent(key, SIZE, radial.n_uniforms)))
    return place(jax.random.key(seed))


@cache
def drawn(dims):
    """Points, measured from the centre, and the density there."""
    radial = ex.Radial(SCALE, CENTRES[dims])
    x = draw(radial, dims)
    return np.asarray(x, np.float64) - CENTRES[dims], np.asarray(radial.density(x), np.float64)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("dims", CENTRES)
def test_the_density_integrates_to_one(dims):
    nodes, weights = np.polynomial.legendre.leggauss(120)
    r = 20 * (nodes + 1)
    shells = SURFACE[dims] * r ** (dims - 1) * along_a_ray(dims, r)
    assert 20 * weights @ shells == pytest.approx(1, abs=1e-9)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("dims", [2, 3, 5])
def test_the_density_is_an_exponential_over_the_radius(dims):
    r = np.linspace(0.1, 5, 20)
    shape = along_a_ray(dims, r) * r * np.exp(r / SCALE)
    np.testing.assert_allclose(shape, shape[0], rtol=1e-8)


@pytest.mark.parametrize("dims", CENTRES)
def test_radii_have_the_density(dims):
    r = np.linalg.norm(drawn(dims)[0], axis=1)
    grid = np.linspace(1e-6, 30, 20_001)
    density = SURFACE[dims] * grid ** (dims - 1) * along_a_ray(dims, grid)
    cumulative = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    assert scipy.stats.kstest(r, lambda x: np.interp(x, grid, cumulative)).pvalue > 0.01


@pytest.mark.parametrize("dims", CENTRES)
def test_the_mean_radius_is_known(dims):
    r = np.linalg.norm(drawn(dims)[0], axis=1)
    power = max(dims - 1, 1)
    assert r.mean() == pytest.approx(power * SCALE, abs=4.5 * SCALE * np.sqrt(power / SIZE))
    assert r.min() > 0


@pytest.mark.parametrize("dims", CENTRES)
def test_no_direction_is_preferred(dims):
    offset, _ = drawn(dims)
    direction = offset / np.linalg.norm(offset, axis=1, keepdims=True)
    np.testing.assert_allclose(direction.mean(0), 0, atol=4.5 / np.sqrt(SIZE))
    np.testing.assert_allclose(direction.T @ direction / SIZE, np.eye(dims) / dims, atol=4.5 / np.sqrt(SIZE))


@pytest.mark.parametrize("dims", CENTRES)
def test_one_over_the_density_undoes_the_drawing(dims):
    offset, density = drawn(dims)
    estimate = np.exp(-((offset - 0.2) ** 2).sum(1)) / density
    error = estimate.std() / np.sqrt(SIZE)
    assert error < 0.02 * np.pi ** (dims / 2)
    assert estimate.mean() == pytest.approx(np.pi ** (dims / 2), abs=4.5 * error)


def test_one_centre_serves_all_axes():
    assert ex.Radial(1.0, dims=3).centre == (0.0, 0.0, 0.0)
    assert ex.Radial(1.0, 2.5, dims=2).centre == (2.5, 2.5)


def test_points_keep_off_a_centre_elsewhere():
    x = draw(ex.Radial(1.0, 1e4, dims=2), 0)
    assert (x != 1e4).any(-1).all()


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_scales_must_be_positive(scale):
    with pytest.raises(ValueError, match=f"scale must be positive; got {scale}"):
        ex.Radial(scale)


def test_centres_must_have_the_dimensions_asked_for():
    with pytest.raises(ValueError, match="centre has 2 values, but dims is 3"):
        ex.Radial(1.0, [0.0, 1.0], dims=3)

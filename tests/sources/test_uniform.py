"""Points of domains and of densities: uniform, even, and weighted where parameters are not."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.sources.uniform import Distribution, as_sampler

SIZE = 20_000
SPHERE, TORUS = ex.sphere(1.5), ex.torus(2.0, 0.7)
ON_SPHERE, ON_TORUS = ex.Uniform(SPHERE), ex.Uniform(TORUS)


@cache
def sampler(source, size):
    return jax.jit(lambda key: source.sample(key, size))


def drawn(source, size=SIZE, seed=0):
    return sampler(source, size)(jax.random.key(seed))


def test_points_are_inside_uniform_on_every_axis_and_independent():
    box = ex.Box([-1.0, 0.0, 5.0], [1.0, 10.0, 5.5])
    points = jax.jit(lambda key: ex.Uniform(box).sample(key, SIZE))(jax.random.key(0))
    np.testing.assert_array_equal(points.weights, np.ones(SIZE))
    np.testing.assert_array_equal(box.contains(points.x), np.ones(SIZE))
    unit = (np.asarray(points.x) - box.low) / (2 * box.half_width)
    assert unit.shape == (SIZE, 3)
    assert ((unit >= 0) & (unit <= 1)).all()
    error = 4.5 / np.sqrt(SIZE)
    np.testing.assert_allclose(unit.mean(0), 1 / 2, atol=error * np.sqrt(1 / 12))
    np.testing.assert_allclose((unit**2).mean(0), 1 / 3, atol=error * np.sqrt(4 / 45))
    np.testing.assert_allclose(np.corrcoef(unit.T), np.eye(3), atol=error)


def test_the_same_key_gives_the_same_batch_and_another_key_another():
    box = ex.Box(-1.0, 1.0, dims=2)
    draw = jax.jit(lambda key: ex.Uniform(box).sample(key, 10).x)
    first, again, other = (draw(jax.random.key(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_the_parts_of_a_spread_fill_the_box_evenly_together():
    box = ex.Box([-1.0, 0.0, 5.0], [1.0, 10.0, 5.5])
    part = jax.jit(lambda key, index: ex.Uniform(box).sample_qmc(key, 512, index))
    parts = [part(jax.random.key(0), jnp.asarray(index)) for index in range(8)]
    together = ex.Uniform(box).sample_qmc(jax.random.key(0), 4096)
    np.testing.assert_allclose(np.concatenate([p.x for p in parts]), together.x, rtol=1e-6)
    np.testing.assert_array_equal(together.weights, np.ones(4096))
    np.testing.assert_array_equal(box.contains(together.x), np.ones(4096))
    unit = (np.asarray(together.x) - box.low) / (2 * box.half_width)
    # Chance would be wrong by about 1 / √4096.
    np.testing.assert_allclose(unit.mean(0), 1 / 2, atol=0.1 / 64)
    np.testing.assert_allclose(unit.T @ unit / 4096, 1 / 4 + np.eye(3) / 12, atol=0.2 / 64)


def test_another_key_shifts_a_spread():
    box = ex.Box(0.0, 1.0, dims=2)
    first, again, other = (np.asarray(ex.Uniform(box).sample_qmc(jax.random.key(seed), 20).x) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    shift = (other - first) % 1
    np.testing.assert_allclose(shift, np.broadcast_to(shift[0], (20, 2)), atol=1e-5)
    assert (first != other).all()


@pytest.mark.parametrize("source", [ON_SPHERE, ON_TORUS], ids=["sphere", "torus"])
def test_weights_have_mean_one(source):
    weights = np.asarray(drawn(source).weights, np.float64)
    assert weights.mean() == pytest.approx(1, abs=4 * weights.std() / np.sqrt(SIZE))
    assert weights.std() > 0.1


def test_weights_are_area_over_its_mean():
    q, weights = drawn(ON_SPHERE)
    np.testing.assert_allclose(weights, np.sin(q[:, 0]) * np.pi / 2, rtol=1e-4)
    q, weights = drawn(ON_TORUS)
    np.testing.assert_allclose(weights, 1 + 0.35 * np.cos(q[:, 0]), rtol=1e-4)


@pytest.mark.parametrize("method", ["sample", "sample_qmc"])
def test_weighted_points_are_uniform_on_the_sphere(method):
    q, weights = jax.jit(lambda key: getattr(ON_SPHERE, method)(key, SIZE))(jax.random.key(0))
    x = np.asarray(jax.vmap(SPHERE.embedding)(q), np.float64) / 1.5
    weights = np.asarray(weights, np.float64)[:, None]
    error = 4.5 / np.sqrt(SIZE)
    np.testing.assert_allclose((weights * x).mean(0), np.zeros(3), atol=error)
    np.testing.assert_allclose((weights * x).T @ x / SIZE, np.eye(3) / 3, atol=error)


def test_points_lie_in_the_box_and_follow_the_key():
    first, again, other = (drawn(ON_TORUS, 50, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.x, again.x)
    assert (first.x != other.x).all()
    assert ((first.x > 0) & (first.x < 2 * np.pi)).all()
    assert ON_TORUS.shape == (2,)


def test_double_precision_is_kept(float64):
    q, weights = drawn(ON_SPHERE, 50)
    assert weights.dtype == jnp.float64
    np.testing.assert_allclose(weights, np.sin(q[:, 0]) * np.pi / 2, rtol=1e-12)


@pytest.mark.parametrize("method", ["sample", "sample_qmc"])
def test_points_of_a_density_have_weight_one_and_its_moments(method):
    gaussian = ex.Gaussian([1.0, -2.0], [0.5, 3.0])
    points = jax.jit(lambda key: getattr(Distribution(gaussian), method)(key, SIZE))(jax.random.key(0))
    np.testing.assert_array_equal(points.weights, np.ones(SIZE))
    z = (np.asarray(points.x) - gaussian.mean) / [0.5, 3.0]
    error = 4.5 / np.sqrt(SIZE)
    np.testing.assert_allclose(z.mean(0), 0, atol=error)
    np.testing.assert_allclose(z.T @ z / SIZE, np.eye(2), atol=np.sqrt(2) * error)


def test_the_parts_of_a_spread_of_a_density_fill_it_evenly_together():
    source = Distribution(ex.Gaussian(0.0, 1.0))
    parts = [np.asarray(source.sample_qmc(jax.random.key(0), 256, index).x) for index in range(8)]
    np.testing.assert_allclose(np.concatenate(parts), source.sample_qmc(jax.random.key(0), 2048).x, atol=1e-4)
    # Chance would be wrong by about 1 / √2048.
    assert np.concatenate(parts).mean() == pytest.approx(0, abs=0.1 / np.sqrt(2048))


def test_domains_and_densities_are_taken_for_the_sources_of_their_points():
    box, gaussian, rows = ex.Box(0.0, 1.0), ex.Gaussian(0.0, 1.0), ex.Arrays(np.zeros((3, 1), np.float32))
    assert as_sampler(box) == ex.Uniform(box)
    assert as_sampler(SPHERE) == ON_SPHERE
    assert as_sampler(gaussian).of is gaussian
    assert as_sampler(rows) is rows
    assert as_sampler("box") == "box"


def test_sources_declare_what_they_draw_from():
    box, gaussian = ex.Box(-2.0, 3.0, dims=2), ex.Gaussian(0.0, 1.0, dims=2)
    uniform, distribution = ex.Uniform(box), Distribution(gaussian)
    assert (uniform.domain, uniform.density) == (box, box)
    assert (ON_SPHERE.domain, ON_SPHERE.density) == (SPHERE, None)
    assert distribution.domain is None
    assert distribution.density is gaussian
    for source in (uniform, ON_SPHERE, distribution):
        assert source.source is source
        assert (source.rows, source.graph, source.steps, source.episodes) == (None,) * 4

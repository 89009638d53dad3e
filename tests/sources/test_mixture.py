"""Importance weights give back the integrals of the box."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

import eigenax as ex

BATCHES = 64
PLANE, SPACE, LINE, OBLONG = (
    ex.Box(-8.0, 8.0, dims=2),
    ex.Box(-4.0, 4.0, dims=3),
    ex.Box(-1.0, 1.0),
    ex.Box(0.0, [4, 6]),
)
SOURCES = {
    "atomic": (ex.Mixture(PLANE, [PLANE, ex.Radial(0.7, dims=2), ex.Radial(4.0, dims=2)], [0.2, 0.4, 0.4]), 2000),
    "in space": (ex.Mixture(SPACE, [SPACE, ex.Radial(1.0, dims=3)], [0.5, 0.5]), 2000),
    "on a line, much outside": (ex.Mixture(LINE, [LINE, ex.Radial(1.0)], [0.5, 0.5]), 2000),
    "off centre, of a size that the shares do not divide": (
        ex.Mixture(OBLONG, [ex.Box(0.0, 6.0, dims=2), ex.Radial(1.0, [1.0, 5.0])], [3, 1]),
        101,
    ),
}


@cache
def drawn(name):
    """Points and weights of independent batches; the last one has the key of the first."""
    source, size = SOURCES[name]
    keys = jax.random.split(jax.random.key(0), BATCHES)
    keys = jnp.concatenate([keys, keys[:1]])
    x, weights = jax.jit(jax.vmap(lambda key: source.sample(key, size)))(keys)
    return np.asarray(x, np.float64), np.asarray(weights, np.float64)


def weighted_mean(name, function):
    """E[w f] and its standard error."""
    x, weights = drawn(name)
    means = (weights * function(x))[:BATCHES].mean(1)
    return means.mean(), means.std(ddof=1) / np.sqrt(BATCHES)


def radius(x):
    return np.linalg.norm(x, axis=-1)


@pytest.mark.parametrize("name", SOURCES)
def test_weights_have_mean_one(name):
    mean, error = weighted_mean(name, lambda x: 1.0)
    assert error < 0.05
    assert mean == pytest.approx(1, abs=4 * error + 1e-6)


def test_a_gaussian_has_its_integral():
    mean, error = weighted_mean("atomic", lambda x: np.exp(-(radius(x - 1) ** 2) / 2))
    axis = np.sqrt(np.pi / 2) * (erf(7 / np.sqrt(2)) + erf(9 / np.sqrt(2)))
    assert error < 0.02 * axis**2 / 256
    assert mean == pytest.approx(axis**2 / 256, abs=4 * error)


def test_a_coulomb_potential_has_its_integral_over_the_square():
    mean, error = weighted_mean("atomic", lambda x: 1 / radius(x))
    exact = 2 * np.arcsinh(1) / 8
    assert error < 0.01 * exact
    assert mean == pytest.approx(exact, abs=4 * error)


def test_the_energy_of_an_atom_scatters_less_than_under_uniform_points():
    def potential_energy(x):
        return np.exp(-radius(x)) / radius(x)

    _, from_mixture = weighted_mean("atomic", potential_energy)
    uniform = np.random.default_rng(0).uniform(-8, 8, (BATCHES * 2000, 2))
    assert from_mixture < potential_energy(uniform).std() / np.sqrt(len(uniform)) / 4


def test_weights_are_uniform_density_over_mixture_density():
    x, weights = (part[0] for part in drawn("atomic"))
    tails = [np.exp(-radius(x) / s) / (2 * np.pi * s * radius(x)) for s in (0.7, 4.0)]
    expected = 1 / 256 / (0.2 / 256 + 0.4 * tails[0] + 0.4 * tails[1])
    inside = weights > 0
    assert 1500 < inside.sum() < 2000
    np.testing.assert_allclose(weights[inside], expected[inside], rtol=1e-4)


@pytest.mark.parametrize("name", SOURCES)
def test_points_outside_are_brought_to_a_face_with_weight_zero(name):
    box, (x, weights) = SOURCES[name][0].box, drawn(name)
    assert ((x >= box.low) & (x <= box.high)).all()
    on_a_face = ((x == box.low) | (x == box.high)).any(-1)
    np.testing.assert_array_equal(weights == 0, on_a_face)
    assert np.isfinite(weights).all()


def test_as_many_points_fall_outside_as_the_density_says():
    _, weights = drawn("on a line, much outside")
    outside = (weights[:BATCHES, 1000:] == 0).mean()
    assert outside == pytest.approx(np.exp(-1), abs=4.5 * np.sqrt(np.exp(-1) / (BATCHES * 1000)))
    assert (weights[:, :1000] > 0).all()


def test_every_component_gets_its_share_of_every_batch():
    parts = [ex.Box(0.0, 0.25), ex.Box(0.25, 1.0)]
    source = ex.Mixture(ex.Box(0.0, 1.0), parts, shares=[3, 1])
    assert source.shares == (0.75, 0.25)
    batch = jax.jit(lambda key: source.sample(key, 100))(jax.random.key(0))
    assert (batch.x[:75] <= 0.25).all()
    assert (batch.x[75:] >= 0.25).all()
    np.testing.assert_allclose(batch.weights, [1 / 3] * 75 + [3.0] * 25, rtol=1e-5)


def test_the_same_key_gives_the_same_batch_and_another_key_another():
    x, weights = drawn("atomic")
    np.testing.assert_array_equal(x[0], x[-1])
    np.testing.assert_array_equal(weights[0], weights[-1])
    assert (x[0] != x[1]).any(-1).mean() > 0.9
    assert SOURCES["atomic"][0].shape == (2,)


@pytest.mark.parametrize("shares", [[1.0], [1.0, 2.0, 3.0], [1.0, 0.0], [1.0, -1.0]])
def test_shares_must_be_one_positive_number_for_each_component(shares):
    box = ex.Box(0.0, 1.0)
    with pytest.raises(ValueError, match=r"each of 2 components; got \[1.0"):
        ex.Mixture(box, [box, box], shares)


def test_a_mixture_of_nothing_is_refused():
    with pytest.raises(ValueError, match="each of 0 components"):
        ex.Mixture(ex.Box(0.0, 1.0), [], [])


def test_components_must_have_the_dimensions_of_the_box():
    with pytest.raises(ValueError):
        ex.Mixture(ex.Box(-1.0, 1.0, dims=2), [ex.Radial(0.5)], [1.0])

"""Importance weights give back the integrals of the box."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from scipy.special import erf, gamma

import eigenax as ex
from eigenax.core.lattice import independent

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
def test_points_outside_are_brought_inside_with_weight_zero(name):
    box, (x, weights) = SOURCES[name][0].box, drawn(name)
    assert ((x >= box.low) & (x <= box.high)).all()
    # At a face a potential may be infinite; float32 has few numbers next to one.
    assert ((x == box.low) | (x == box.high)).any(-1)[weights == 0].mean() < 1e-3
    assert np.isfinite(weights).all()


def test_as_many_points_fall_outside_as_the_density_says():
    _, weights = drawn("on a line, much outside")
    outside = (weights[:BATCHES, 1000:] == 0).mean()
    assert outside == pytest.approx(np.exp(-1), abs=4.5 * np.sqrt(np.exp(-1) / (BATCHES * 1000)))
    assert (weights[:, :1000] > 0).all()


def test_a_draw_where_its_own_density_is_too_small_for_float32_has_weight_zero(monkeypatch):
    def with_the_least_number(key, size, numbers, start=0):
        return independent(key, size, numbers).at[0].set(jnp.finfo(jnp.float32).tiny)

    monkeypatch.setattr("eigenax.sources.mixture.independent", with_the_least_number)
    box = ex.Box(-6.0, 6.0, dims=2)
    batch = ex.Mixture(box, [ex.Gaussian([0.0, 0.0], np.eye(2)), box], [0.8, 0.2]).sample(jax.random.key(0), 20)
    assert batch.weights[0] == 0
    assert np.isfinite(batch.weights).all()


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


# Everything that can be part of a mixture at once, off centre, with a correlated Gaussian.
CASES = [(1, "sample_qmc"), (2, "sample_qmc"), (3, "sample_qmc"), (4, "sample_qmc"), (2, "sample")]


def centre(dims):
    return 0.5 + np.arange(dims) / 10


def covariance(dims):
    return 0.3 * np.eye(dims) + 0.1


def of_all_kinds(dims):
    box, at = ex.Box(-2.0, 3.0, dims=dims), centre(dims).tolist()
    parts = [box, ex.Gaussian(at, covariance(dims)), ex.LogUniformRadius(0.05, 6.0, at), ex.Radial(0.8, at)]
    return ex.Mixture(box, parts, [0.2, 0.4, 0.2, 0.2])


@cache
def batches_of_all_kinds(dims, method):
    """As `drawn`, of a mixture of all kinds."""
    source, keys = of_all_kinds(dims), jax.random.split(jax.random.key(dims), BATCHES)
    keys = jnp.concatenate([keys, keys[:1]])
    x, weights = jax.jit(lambda keys: jax.lax.map(lambda key: getattr(source, method)(key, 1000), keys))(keys)
    return np.asarray(x, np.float64), np.asarray(weights, np.float64)


@pytest.mark.parametrize(("dims", "method"), CASES)
def test_weights_are_honest_with_components_of_all_kinds(dims, method):
    x, weights = (np.concatenate(part[:4]) for part in batches_of_all_kinds(dims, method))
    r, power = radius(x - centre(dims)), max(dims - 1, 1)
    sphere = 2 * np.pi ** (dims / 2) / gamma(dims / 2)
    gaussian = scipy.stats.multivariate_normal(centre(dims), covariance(dims)).pdf(x)
    scales = np.where(r < 6, 1 / (0.05 + r) / np.log(6.05 / 0.05), 0) / (sphere * r ** (dims - 1))
    radial = r ** (power - dims) * np.exp(-r / 0.8) / (sphere * gamma(power) * 0.8**power)
    expected = 5.0**-dims / (0.2 * 5.0**-dims + 0.4 * gaussian + 0.2 * scales + 0.2 * radial)
    inside = weights > 0
    assert 0.6 < inside.mean() < 1
    np.testing.assert_allclose(weights[inside], expected[inside], rtol=1e-3)
    assert (np.abs(x[~inside] - 0.5) < 2.5).all()


@pytest.mark.parametrize(("dims", "method"), CASES)
def test_integrals_over_the_box_come_back_with_components_of_all_kinds(dims, method):
    x, weights = (part[:BATCHES] for part in batches_of_all_kinds(dims, method))
    axis = np.sqrt(np.pi) / 2 * (erf(2) + erf(3)) / 5
    square = (25 / 12 + (0.5 - centre(dims)) ** 2).sum()
    for values, exact in (
        (1.0, 1.0),
        (np.exp(-(radius(x - 1) ** 2)), axis**dims),
        (radius(x - centre(dims)) ** 2 + x[..., 0], square + 0.5),
    ):
        means = (weights * values).mean(1)
        error = means.std(ddof=1) / np.sqrt(BATCHES)
        assert error < 0.01 * exact
        assert means.mean() == pytest.approx(exact, abs=4.5 * error)


def test_even_points_scatter_less_than_independent_ones():
    def scatter(method):
        x, weights = batches_of_all_kinds(2, method)
        return (weights * np.exp(-(radius(x - 1) ** 2))).mean(1).std()

    assert scatter("sample_qmc") < scatter("sample") / 4


def test_the_same_key_spreads_the_same_points_and_another_key_others():
    x, weights = batches_of_all_kinds(2, "sample_qmc")
    np.testing.assert_array_equal(x[0], x[-1])
    np.testing.assert_array_equal(weights[0], weights[-1])
    assert (x[0] != x[1]).any(-1).mean() > 0.9


def test_the_parts_of_a_spread_fill_every_component_evenly_together():
    parts = [ex.Box(0.0, 0.25), ex.Box(0.25, 1.0)]
    source = ex.Mixture(ex.Box(0.0, 1.0), parts, shares=[3, 1])
    part = jax.jit(lambda key, index: source.sample_qmc(key, 40, index))
    batches = [part(jax.random.key(0), jnp.asarray(index)) for index in range(10)]
    x, weights = (np.concatenate([np.asarray(b[i]) for b in batches]).squeeze() for i in (0, 1))
    np.testing.assert_allclose(np.bincount(np.digitize(x, [0.25])), [300, 100])
    # The gaps of a golden rotation are at most φ² times the mean one.
    assert np.diff(np.sort(x[x < 0.25])).max() < 0.25 * 2.7 / 300
    assert np.diff(np.sort(x[x > 0.25])).max() < 0.75 * 2.7 / 100
    np.testing.assert_allclose(weights, np.where(x < 0.25, 1 / 3, 3.0), rtol=1e-5)


def test_a_share_too_small_for_a_single_point_costs_nothing():
    box = ex.Box(0.0, 1.0)
    source = ex.Mixture(box, [box, ex.Radial(0.1, 0.5)], [0.999, 0.001])
    batch = jax.jit(lambda key: source.sample_qmc(key, 20))(jax.random.key(0))
    np.testing.assert_allclose(batch.weights, np.ones(20), rtol=1e-6)


def test_functions_live_in_the_box_and_points_have_no_density_of_their_own():
    mixture = of_all_kinds(2)
    assert mixture.domain == ex.Box(-2.0, 3.0, dims=2)
    assert mixture.density is None
    assert mixture.source is mixture

"""From a cloud of points to a source that draws there with honest weights, and waves that can be the states there."""

import json
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.batch import effective_share
from eigenax.core.precision import counting_in
from eigenax.galerkin.cloud import (
    CLOUD,
    NUCLEAR_SHARE,
    UNIFORM_SHARE,
    WIDENED,
    Cloud,
    coordinates_of,
    everywhere,
    of_ground_state,
    source_around,
    spread_of,
    walls_of,
    waves_around,
)
from eigenax.networks.boundary import Edges, Walls
from eigenax.networks.waves import Cusps, ExponentialEnvelopes, GaussianEnvelopes, Whitened
from eigenax.serialisation import decode, encode

SQUARE = ex.Box(-10.0, 10.0, dims=2)
MIDDLE, COVARIANCE = np.array([3.0, -4.0]), np.array([[0.09, 0.05], [0.05, 0.04]])
NUCLEUS = (3.0, -4.0)


@cache
def sphere():
    return ex.sphere(1.0)


def gaussian_cloud(middle=MIDDLE, covariance=COVARIANCE):
    """Points of a normal density, for the ground state and all states alike."""
    rng = np.random.default_rng(0)
    return of_ground_state(rng.multivariate_normal(middle, covariance, 2048), 2)


@cache
def batches(name):
    """Points and weights of independent batches of a source around a narrow cloud."""
    source = source_around(gaussian_cloud(), SQUARE, (NUCLEUS,) if name == "nucleus" else ())
    keys = jax.random.split(jax.random.key(0), 32)
    x, weights = jax.jit(lambda keys: jax.lax.map(lambda key: source.spread(key, 1000), keys))(keys)
    return source, np.asarray(x, np.float64), np.asarray(weights, np.float64)


def check_integral(name, function, exact, relative):
    _, x, weights = batches(name)
    means = (weights * function(x)).mean(1)
    error = means.std(ddof=1) / np.sqrt(len(means))
    assert means.mean() == pytest.approx(exact, abs=4.5 * error)
    assert error < relative * exact


def test_the_spread_of_weighted_values_is_their_mean_and_covariance():
    values = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 5.0]])
    weights = np.array([0.5, 0.25, 0.25])
    mean, covariance = spread_of(values, weights)
    np.testing.assert_allclose(mean, [1.5, 2])
    np.testing.assert_allclose(covariance, np.cov(values.T, aweights=weights, ddof=0))


def test_everywhere_is_uniform_in_a_box():
    points, ground, states, _ = everywhere(ex.Box([0.0, 2.0], [1.0, 6.0]), 2)
    np.testing.assert_allclose([ground, states], 1 / CLOUD)
    mean, covariance = spread_of(points, ground)
    np.testing.assert_allclose(mean, [0.5, 4], atol=1e-2)
    np.testing.assert_allclose(covariance, np.diag([1, 16]) / 12, atol=1e-2)


def test_everywhere_on_a_sphere_counts_area():
    points, ground, states, _ = everywhere(sphere(), 2)
    np.testing.assert_array_equal(ground, states)
    assert ground.sum() == pytest.approx(1)
    assert ground @ np.cos(points[:, 0]) ** 2 == pytest.approx(1 / 3, abs=1e-3)


def test_a_ground_state_has_as_many_points_as_other_clouds():
    cloud = of_ground_state(np.arange(6.0).reshape(3, 2), 2)
    assert cloud.points.shape == (CLOUD, 2)
    np.testing.assert_array_equal(cloud.points[:4], [[0, 1], [2, 3], [4, 5], [0, 1]])
    assert cloud.ground.sum() == pytest.approx(1)


def test_points_are_drawn_where_a_narrow_cloud_is_and_everywhere_else():
    source, x, weights = batches("narrow")
    assert isinstance(source, ex.Mixture)
    assert source.box is SQUARE
    x, weights = x.reshape(-1, 2), weights.ravel()
    close = np.einsum("bi,ij,bj->b", x - MIDDLE, np.linalg.inv(COVARIANCE), x - MIDDLE) < 16
    assert close.mean() > 0.9 * (1 - UNIFORM_SHARE)  # of the box this is 0.4 %
    assert weights[close].mean() < 0.05
    counts, _, _ = np.histogram2d(*x[~close].T, bins=4, range=[(-10, 10)] * 2)
    assert counts.min() > 0.75 * UNIFORM_SHARE * len(x) / 16
    assert weights.max() < 1.01 / UNIFORM_SHARE


def test_weights_around_a_narrow_cloud_are_honest():
    narrow = 2 * np.pi * np.sqrt(np.linalg.det(COVARIANCE)) / 400
    inverse = np.linalg.inv(COVARIANCE)
    check_integral("narrow", lambda x: 1.0, 1.0, 0.01)
    check_integral("narrow", lambda x: (x**2).sum(-1), 200 / 3, 0.01)
    check_integral(
        "narrow",
        lambda x: np.exp(-np.einsum("...i,ij,...j->...", x - MIDDLE, inverse, x - MIDDLE) / 2),
        narrow,
        0.003,
    )


def test_weights_around_a_singularity_are_honest():
    source, _, weights = batches("nucleus")
    assert [type(part) for part in source.components] == [ex.Box, ex.Gaussian, ex.Scales]
    assert source.components[2].centre == NUCLEUS
    assert source.shares[2] == pytest.approx(NUCLEAR_SHARE)

    def r(x):
        return np.linalg.norm(x - np.asarray(NUCLEUS), axis=-1)

    check_integral("nucleus", lambda x: 1.0, 1.0, 0.01)
    # ∫ exp(−r/s) / r dx = 2π s
    check_integral("nucleus", lambda x: np.exp(-r(x) / 0.1) / r(x), 2 * np.pi * 0.1 / 400, 0.01)
    check_integral("nucleus", lambda x: np.exp(-r(x) / 0.5), 2 * np.pi * 0.25 / 400, 0.01)
    assert effective_share(weights.ravel()) > 0.1


def test_every_singularity_gets_its_share():
    points = (NUCLEUS, (-3.0, 4.0), (0.0, 0.0))
    source = source_around(gaussian_cloud(), SQUARE, points)
    assert [part.centre for part in source.components[2:]] == list(points)
    np.testing.assert_allclose(source.shares[2:], NUCLEAR_SHARE / 3)
    assert sum(source.shares) == pytest.approx(1)


def test_a_source_around_a_cloud_comes_back_from_plain_data():
    source, arrays = source_around(gaussian_cloud(), SQUARE, (NUCLEUS,)), {}
    again = decode(json.loads(json.dumps(encode(source, arrays))), arrays)
    assert (again.shares, again.box, again.components[2]) == (source.shares, source.box, source.components[2])
    np.testing.assert_array_equal(again.components[1].cholesky, source.components[1].cholesky)


def test_a_cloud_narrow_along_one_axis_is_worth_drawing_points_for():
    flat = gaussian_cloud([0.0, 1.0], np.diag([33.0, 0.01]))
    source = source_around(flat, SQUARE, ())
    np.testing.assert_allclose(source.components[1].mean, [0, 1], atol=0.5)
    np.testing.assert_allclose(source.components[1].cholesky[1, 1], WIDENED * 0.1, rtol=0.05)


def test_a_cloud_as_wide_as_the_box_leaves_it_to_itself():
    assert source_around(everywhere(SQUARE, 2), SQUARE, ()) is SQUARE


def test_other_domains_draw_their_own_points():
    for domain in (sphere(), ex.Mixture(SQUARE, [SQUARE, ex.Radial(1.0, dims=2)], [0.5, 0.5])):
        assert source_around(gaussian_cloud(), domain, ()) is domain


def test_coordinates_and_walls_are_those_of_the_domain():
    mixed = ex.Box(0.0, 1.0, dims=2, boundary=("zero", "free"))
    mixture = ex.Mixture(mixed, [mixed], [1.0])
    assert coordinates_of(mixed) == coordinates_of(mixture) == Edges(mixed)
    assert coordinates_of(sphere()) is sphere().embedding
    assert walls_of(mixed) == walls_of(mixture) == Walls(mixed)
    assert walls_of(ex.Box(0.0, 1.0, boundary="periodic")) is None
    assert walls_of(sphere()) is None


def waves(cloud, domain, singularities=(), n=3, size=12, seed=0):
    with counting_in("float64"):
        return waves_around(cloud, domain, singularities, n, size, seed)


@pytest.mark.parametrize("singularities", [(), (NUCLEUS,)])
def test_waves_depend_on_the_seed_alone(singularities):
    first, again, other = (waves(gaussian_cloud(), SQUARE, singularities, seed=seed) for seed in (4, 4, 5))
    for a, b, c in zip(*map(jax.tree.leaves, (first, again, other)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.shape == c.shape
    assert (first.frequencies != other.frequencies).all()
    assert (first.phases != other.phases).all()


def test_waves_around_a_narrow_cloud_are_measured_in_its_units():
    network = waves(gaussian_cloud(), SQUARE, size=400)
    assert isinstance(network.inputs, Whitened)
    assert isinstance(network.envelopes, GaussianEnvelopes)
    cloud = gaussian_cloud()
    with counting_in("float64"):
        z = np.asarray(jax.jit(jax.vmap(network.inputs))(jnp.asarray(cloud.points)))
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(np.cov(z.T), np.eye(2), atol=0.01)
    # Half of the envelopes are about exp(−z²/4), the square root of the cloud's own density.
    own = (network.envelopes.centres == 0).all(1) & (network.envelopes.rates > 0.45).all(1)
    assert 0.5 <= own.mean() <= 0.8
    assert (network.envelopes.centres[3::4] != 0).all()
    lengths = np.linalg.norm(network.frequencies, axis=1)
    assert lengths.min() > 0.19
    assert lengths.max() < 1.5 + 0.75 * np.sqrt(3)


def test_waves_everywhere_have_no_envelopes():
    network = waves(everywhere(SQUARE, 2), SQUARE)
    assert network.envelopes is None
    assert network.factor == Walls(SQUARE)


def test_waves_around_singularities_have_cusps_there():
    points = (NUCLEUS, (-3.0, 4.0))
    network = waves(gaussian_cloud(), SQUARE, points, size=40)
    assert isinstance(network.inputs, Cusps)
    assert network.inputs.points == points
    assert isinstance(network.envelopes, ExponentialEnvelopes)
    assert set(network.envelopes.nearest.tolist()) == {0, 1}
    assert (network.envelopes.rates > 0).all()


def missed(network, functions, x, weights):
    """The part of each function that no combination of the waves can be, relative to the function."""
    with counting_in("float64"):
        u = np.asarray(jax.jit(jax.vmap(network))(jnp.asarray(x)))
    root = np.sqrt(weights)[:, None]
    away = root * (functions - u @ np.linalg.lstsq(root * u, root * functions, rcond=1e-10)[0])
    return np.linalg.norm(away, axis=0) / np.linalg.norm(root * functions, axis=0)


def test_waves_can_be_the_states_of_an_oscillator():
    """The cloud is exp(−x²), the square of the ground state, from a corner of the box."""
    domain = ex.Box(-30.0, 10.0)
    cloud = of_ground_state(np.random.default_rng(0).normal(4, np.sqrt(0.5), (2048, 1)), 2)
    x = np.linspace(-4, 10, 1401)[:, None]
    y = x[:, 0] - 4
    functions = np.stack([np.exp(-(y**2) / 2) * h for h in (1 + 0 * y, y, 2 * y**2 - 1)], 1)
    assert missed(waves(cloud, domain, size=96), functions, x, np.ones(1401)).max() < 1e-4


def test_waves_can_be_the_states_of_an_atom():
    """exp(−r) and the next shell of −∇² − 1/r in the plane, with a cloud of the ground state's square."""
    domain, rng = ex.Box(-40.0, 40.0, dims=2), np.random.default_rng(0)
    r, angle = rng.gamma(2, 0.5, 2048), rng.uniform(0, 2 * np.pi, 2048)
    cloud = of_ground_state(np.stack([r * np.cos(angle), r * np.sin(angle)], 1), 2)
    r, angle = rng.uniform(0, 20, 3000), rng.uniform(0, 2 * np.pi, 3000)
    x = np.stack([r * np.cos(angle), r * np.sin(angle)], 1)
    functions = np.stack([np.exp(-r), np.exp(-r / 3) * (1 - 2 * r / 3), np.exp(-r / 3) * x[:, 0]], 1)
    network = waves(cloud, domain, ((0.0, 0.0),), n=4, size=300)
    assert missed(network, functions, x, r).max() < 1e-2


def test_a_cloud_with_other_states_than_the_ground_state_makes_waves_wider():
    points = np.random.default_rng(0).normal(size=(CLOUD, 2)) * 3
    square = (points**2).sum(1)
    ground = np.exp(-square * (1 - 1 / 9) / 2)
    alike = np.full(CLOUD, 1 / CLOUD)
    wide = waves(
        Cloud(points, ground / ground.sum(), alike, np.zeros((2, 2, 2))), ex.Box(-40.0, 40.0, dims=2), size=200
    )
    narrow = waves(Cloud(points, alike, alike, np.zeros((2, 2, 2))), ex.Box(-40.0, 40.0, dims=2), size=200)
    assert wide.envelopes.rates.min() < 0.2 < narrow.envelopes.rates.min()
    lengths = [np.linalg.norm(network.frequencies, axis=1).min() for network in (wide, narrow)]
    assert lengths[0] < 0.1 < lengths[1]


def test_effective_share_is_one_for_equal_weights_and_falls_with_their_scatter():
    assert effective_share(np.full(10, 3.0)) == pytest.approx(1)
    assert effective_share(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(1 / 4)
    assert effective_share(np.array([1.0, 2.0])) == pytest.approx(0.9)

"""From points where states are to a source that draws there with honest weights, and waves that can be the states."""

import json
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.batch import effective_share
from eigenax.core.precision import precision_scope
from eigenax.io.serialisation import decode, encode
from eigenax.locate.density import (
    DENSITY_POINTS,
    NUCLEAR_SHARE,
    UNIFORM_SHARE,
    WIDENED,
    DensityEstimate,
    anywhere_in,
    density_of,
    from_ground_state,
    mean_and_covariance,
    source_around,
    with_others,
)
from eigenax.locate.wave_packets import waves_around
from eigenax.networks.boundary import DirichletFactor
from eigenax.networks.features import Whitened
from eigenax.networks.waves import Cusps, ExponentialEnvelopes, GaussianEnvelopes

SQUARE = ex.Box(-10.0, 10.0, dims=2)
OF_SQUARE = ex.Uniform(SQUARE)
MIDDLE, COVARIANCE = np.array([3.0, -4.0]), np.array([[0.09, 0.05], [0.05, 0.04]])
NUCLEUS = (3.0, -4.0)


@cache
def sphere():
    return ex.sphere(1.0)


def gaussian_cloud(middle=MIDDLE, covariance=COVARIANCE):
    """Points of a normal density, for the ground state and all states alike."""
    rng = np.random.default_rng(0)
    return from_ground_state(rng.multivariate_normal(middle, covariance, 2048), np.ones(2048))


@cache
def batches(name):
    """Points and weights of independent batches of a source around a narrow density."""
    source = source_around(gaussian_cloud(), OF_SQUARE, (NUCLEUS,) if name == "nucleus" else ())
    keys = jax.random.split(jax.random.key(0), 32)
    x, weights = jax.jit(lambda keys: jax.lax.map(lambda key: source.sample_qmc(key, 1000), keys))(keys)
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
    mean, covariance = mean_and_covariance(values, weights)
    np.testing.assert_allclose(mean, [1.5, 2])
    np.testing.assert_allclose(covariance, np.cov(values.T, aweights=weights, ddof=0))


def test_everywhere_is_uniform_in_a_box():
    points, ground, states, _, _ = anywhere_in(ex.Uniform(ex.Box([0.0, 2.0], [1.0, 6.0])))
    np.testing.assert_allclose([ground, states], 1 / DENSITY_POINTS)
    mean, covariance = mean_and_covariance(points, ground)
    np.testing.assert_allclose(mean, [0.5, 4], atol=1e-2)
    np.testing.assert_allclose(covariance, np.diag([1, 16]) / 12, atol=1e-2)


def test_everywhere_on_a_sphere_counts_area():
    points, ground, states, _, _ = anywhere_in(ex.Uniform(sphere()))
    np.testing.assert_array_equal(ground, states)
    assert ground.sum() == pytest.approx(1)
    assert ground @ np.cos(points[:, 0]) ** 2 == pytest.approx(1 / 3, abs=1e-3)


def test_a_ground_state_has_the_weights_of_its_points_and_unknown_slopes():
    density = from_ground_state(np.arange(6.0).reshape(3, 2), np.array([1.0, 0.0, 3.0]))
    np.testing.assert_array_equal([density.ground, density.states], [[0.25, 0, 0.75]] * 2)
    assert density.slopes.shape == (3, 2, 2)
    assert (density.slopes == 0).all()


def test_gradients_count_as_the_states_do_each_normalised_by_itself():
    """Of √2 sin(kπx), one of them ten times as large: the mean of k²π²."""

    def sines(x):
        return jnp.array([1.0, 10.0]) * jnp.sin(jnp.pi * jnp.array([1.0, 2.0]) * x[0])

    density = density_of(sines, ex.Uniform(ex.Box(0, 1)), seed=0)
    assert density.slopes.sum() == pytest.approx(np.mean([1, 4]) * np.pi**2, rel=1e-3)
    more = with_others(density, np.array([[0.5]]), 0.5)
    assert more.states[more.guessed == 0].sum() == pytest.approx(0.5)
    assert more.slopes.sum() == pytest.approx(density.slopes.sum() / 2)


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
    assert [type(part) for part in source.components] == [ex.Box, ex.Gaussian, ex.LogUniformRadius]
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
    source = source_around(gaussian_cloud(), OF_SQUARE, points)
    assert [part.centre for part in source.components[2:]] == list(points)
    np.testing.assert_allclose(source.shares[2:], NUCLEAR_SHARE / 3)
    assert sum(source.shares) == pytest.approx(1)


def test_a_source_around_a_cloud_comes_back_from_plain_data():
    source, arrays = source_around(gaussian_cloud(), OF_SQUARE, (NUCLEUS,)), {}
    again = decode(json.loads(json.dumps(encode(source, arrays))), arrays)
    assert (again.shares, again.box, again.components[2]) == (source.shares, source.box, source.components[2])
    np.testing.assert_array_equal(again.components[1].cholesky, source.components[1].cholesky)


def test_a_cloud_narrow_along_one_axis_is_worth_drawing_points_for():
    flat = gaussian_cloud([0.0, 1.0], np.diag([33.0, 0.01]))
    source = source_around(flat, OF_SQUARE, ())
    np.testing.assert_allclose(source.components[1].mean, [0, 1], atol=0.5)
    np.testing.assert_allclose(source.components[1].cholesky[1, 1], WIDENED * 0.1, rtol=0.05)


def test_a_cloud_as_wide_as_the_box_leaves_it_to_itself():
    assert source_around(anywhere_in(OF_SQUARE), OF_SQUARE, ()) is OF_SQUARE


def test_other_domains_draw_their_own_points():
    for source in (ex.Uniform(sphere()), ex.Mixture(SQUARE, [SQUARE, ex.Radial(1.0, dims=2)], [0.5, 0.5])):
        assert source_around(gaussian_cloud(), source, ()) is source


def waves(density, domain, singularities=(), n=3, size=12, seed=0):
    with precision_scope("float64"):
        return waves_around(density, domain, singularities, n, size, seed)


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
    density = gaussian_cloud()
    with precision_scope("float64"):
        z = np.asarray(jax.jit(jax.vmap(network.inputs))(jnp.asarray(density.points)))
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(np.cov(z.T), np.eye(2), atol=0.01)
    # A quarter of the envelopes are about exp(−z²/4), the square root of their own density; the others are around
    # points of it, and mostly no wider.
    own = (network.envelopes.centres == 0).all(1)
    assert own.mean() == 0.25
    np.testing.assert_allclose(network.envelopes.rates[own], 0.5, atol=0.05)
    assert np.abs(network.envelopes.centres).max() < 4
    assert (network.envelopes.rates[~own] > 0.45).mean() > 0.7
    assert network.envelopes.rates.min() > 0.1
    lengths = np.linalg.norm(network.frequencies[own], axis=1)
    assert lengths.min() > 0.19
    assert lengths.max() < 1.5 + 0.75 * np.sqrt(3)


def two_wells(slopes):
    """Narrow Gaussians of deviation 0.1 around ±5, in a box where neither is narrow on average."""
    rng = np.random.default_rng(0)
    points = np.where(np.arange(2048) % 2, 5.0, -5.0)[:, None] + 0.1 * rng.normal(size=(2048, 1))
    alike = np.full(2048, 1 / 2048)
    return DensityEstimate(points, alike, alike, np.full((2048, 1, 1), slopes / 2048), np.zeros(2048))


def test_packets_are_inside_the_wells_of_a_cloud_that_is_as_wide_as_the_box():
    network = waves(two_wells(0.0), ex.Box(-10.0, 10.0), size=400)
    matrix, centres = np.asarray(network.inputs.matrix)[0, 0], network.envelopes.centres[:300, 0]
    wide = network.envelopes.rates[:300, 0] < 1
    # Places with up to half of the states are inside one well, larger ones are somewhere between them.
    in_a_well = np.abs(np.abs(centres / matrix) - 5) < 0.3
    assert in_a_well.mean() > 0.6
    assert set(np.sign(centres[in_a_well])) == {-1.0, 1.0}
    assert not (wide & in_a_well).any()
    # 1/(2σ) is the wave number of a Gaussian well.
    swings = np.abs(network.frequencies[:300, 0] * matrix)[in_a_well]
    assert 1 / (2 * 0.1) < swings.max() < 20 * 2.5 / (2 * 0.1)


def test_packets_swing_as_fast_as_states_change():
    slow, fast = (waves(two_wells(slopes), ex.Box(-10.0, 10.0), size=400) for slopes in (0.0, 1e6))
    matrix = np.asarray(slow.inputs.matrix)[0, 0]
    assert np.abs(fast.frequencies[:300] * matrix).max() == pytest.approx(2500, rel=0.1)
    np.testing.assert_array_equal(slow.frequencies[300:], fast.frequencies[300:])


def test_waves_everywhere_have_no_envelopes():
    network = waves(anywhere_in(OF_SQUARE), SQUARE)
    assert network.envelopes is None
    assert network.factor == DirichletFactor(SQUARE)


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
    with precision_scope("float64"):
        u = np.asarray(jax.jit(jax.vmap(network))(jnp.asarray(x)))
    root = np.sqrt(weights)[:, None]
    away = root * (functions - u @ np.linalg.lstsq(root * u, root * functions, rcond=1e-10)[0])
    return np.linalg.norm(away, axis=0) / np.linalg.norm(root * functions, axis=0)


def test_waves_can_be_the_states_of_an_oscillator():
    """The density is exp(−x²), the square of the ground state, from a corner of the box."""
    domain = ex.Box(-30.0, 10.0)
    density = from_ground_state(np.random.default_rng(0).normal(4, np.sqrt(0.5), (2048, 1)), np.ones(2048))
    x = np.linspace(-4, 10, 1401)[:, None]
    y = x[:, 0] - 4
    functions = np.stack([np.exp(-(y**2) / 2) * h for h in (1 + 0 * y, y, 2 * y**2 - 1)], 1)
    assert missed(waves(density, domain, size=96), functions, x, np.ones(1401)).max() < 1e-4


def test_waves_can_be_the_states_of_an_atom():
    """exp(−r) and the next shell of −∇² − 1/r in the plane, with a density of the ground state's square."""
    domain, rng = ex.Box(-40.0, 40.0, dims=2), np.random.default_rng(0)
    r, angle = rng.gamma(2, 0.5, 2048), rng.uniform(0, 2 * np.pi, 2048)
    density = from_ground_state(np.stack([r * np.cos(angle), r * np.sin(angle)], 1), np.ones(2048))
    r, angle = rng.uniform(0, 20, 3000), rng.uniform(0, 2 * np.pi, 3000)
    x = np.stack([r * np.cos(angle), r * np.sin(angle)], 1)
    functions = np.stack([np.exp(-r), np.exp(-r / 3) * (1 - 2 * r / 3), np.exp(-r / 3) * x[:, 0]], 1)
    network = waves(density, domain, ((0.0, 0.0),), n=4, size=300)
    assert missed(network, functions, x, r).max() < 1e-2


def test_a_cloud_with_other_states_than_the_ground_state_makes_waves_wider():
    points = np.random.default_rng(0).normal(size=(DENSITY_POINTS, 2)) * 3
    square = (points**2).sum(1)
    ground = np.exp(-square * (1 - 1 / 9) / 2)
    alike, unknown = np.full(DENSITY_POINTS, 1 / DENSITY_POINTS), np.zeros((DENSITY_POINTS, 2, 2))
    wide = waves(
        DensityEstimate(points, ground / ground.sum(), alike, unknown, np.zeros(len(points))),
        ex.Box(-40.0, 40.0, dims=2),
        size=200,
    )
    narrow = waves(
        DensityEstimate(points, alike, alike, unknown, np.zeros(len(points))), ex.Box(-40.0, 40.0, dims=2), size=200
    )
    assert wide.envelopes.rates.min() < 0.1 < narrow.envelopes.rates.min()
    lengths = [np.linalg.norm(network.frequencies[150:], axis=1).min() for network in (wide, narrow)]
    assert lengths[0] < 0.1 < lengths[1]


def test_effective_share_is_one_for_equal_weights_and_falls_with_their_scatter():
    assert effective_share(np.full(10, 3.0)) == pytest.approx(1)
    assert effective_share(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(1 / 4)
    assert effective_share(np.array([1.0, 2.0])) == pytest.approx(0.9)

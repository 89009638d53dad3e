"""What a network sees of a point, and the constant before what it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.networks.features import CoarsePixels, CuspInputs, ScaledPixels

CENTRE = (0.5, -1.0)
KEY = jax.random.key(0)


def test_scaled_inputs_measure_each_axis_from_its_centre():
    inputs = ex.ScaledInputs((1.0, -2.0), (2.0, 10.0))
    np.testing.assert_allclose(inputs(jnp.asarray([4.0, 3.0])), [1.5, 0.5])
    assert inputs.size == 2


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_pixels_are_scaled_to_mean_zero_and_deviation_one_of_those_given(kind):
    frames = np.random.default_rng(0).integers(100, 255, (50, 1, 8, 8)).astype(kind)
    scaled = np.asarray(jax.vmap(ScaledPixels.of(frames))(jnp.asarray(frames, jnp.float32)))
    np.testing.assert_allclose([scaled.mean(), scaled.std()], [0, 1], atol=1e-5)
    assert ScaledPixels.of(np.full((3, 1, 2, 2), 7, kind)) == ScaledPixels(7.0, 1.0)


@pytest.mark.parametrize("side", [1, 2, 3])
def test_coarse_pixels_are_means_of_squares_without_what_is_left_at_the_edges(side):
    image = np.random.default_rng(0).normal(size=(2, 7, 6)).astype(np.float32)
    starts = np.ndindex(2, 7 // side, 6 // side)
    expected = [image[c, i * side : (i + 1) * side, j * side : (j + 1) * side].mean() for c, i, j in starts]
    got = CoarsePixels(side)(jnp.asarray(image))
    np.testing.assert_allclose(got, np.reshape(expected, (2, 7 // side, 6 // side)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scales", [(1.0, 5.0), (0.3,), ()])
def test_cusp_inputs_are_their_formula(scales):
    inputs = CuspInputs(CENTRE, scales, length=4.0)
    x = np.array([2.5, 0.5])
    y, r = x - CENTRE, 2.5
    expected = [*(y / np.sqrt(s**2 + r**2) for s in scales), y / 4, [r / 4, np.log(1 + r)]]
    got = inputs(jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(got, np.concatenate(expected), rtol=1e-6)
    assert got.shape == (inputs.size,)


@pytest.mark.usefixtures("float64")
def test_a_smooth_function_of_cusp_inputs_has_a_kink_at_the_centre_alone():
    inputs = CuspInputs(CENTRE)
    network = ex.Compose(inputs, ex.MLP(inputs.size, 2, width=8, depth=1, activation="tanh", key=KEY))
    direction = jnp.asarray([0.6, 0.8])

    def slope(start, forwards):
        step = (1 if forwards else -1) * 1e-6
        return (network(start + step * direction) - network(start)) / step

    centre = jnp.asarray(CENTRE)
    after, before = slope(centre, True), slope(centre, False)
    assert np.isfinite([after, before]).all()
    assert (np.abs(after - before) > 0.01).all()
    elsewhere = centre + jnp.asarray([1.0, 0.5])
    np.testing.assert_allclose(slope(elsewhere, True), slope(elsewhere, False), atol=1e-4)


def test_cusp_inputs_are_finite_at_the_centre_and_far_away():
    inputs = CuspInputs(CENTRE)
    np.testing.assert_array_equal(inputs(jnp.asarray(CENTRE)), 0)
    assert np.isfinite(inputs(jnp.asarray([1e6, -1e6]))).all()


def test_on_inputs_feeds_the_features_to_the_network():
    inputs, network = ex.ScaledInputs((1.0, 0.0), (4.0, 1.0)), ex.MLP(2, 4, width=24, key=KEY)
    seen = ex.Compose(inputs, network)(jnp.asarray([3.0, 2.0]))
    np.testing.assert_allclose(seen, network(jnp.asarray([0.5, 2.0])), rtol=1e-6)
    assert not ex.Compose(inputs, network).separate
    assert ex.Compose(inputs, ex.EnsembleMLP(2, 3, width=5, key=KEY)).separate


def test_with_constant_puts_a_one_before_the_network():
    network = ex.MLP(2, 4, width=24, key=KEY)
    for x in (jnp.zeros(2), jnp.asarray([5.0, -3.0])):
        u = ex.WithConstant(network)(x)
        assert u.shape == (5,)
        assert u[0] == 1
        np.testing.assert_allclose(u[1:], network(x), rtol=1e-6)
    assert not ex.WithConstant(network).separate
    assert ex.WithConstant(ex.EnsembleMLP(2, 3, width=5, key=KEY)).separate

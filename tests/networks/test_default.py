"""The network that is taken when none is given."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.networks.default import default_network

KEY = jax.random.key(0)
BOX = ex.Box([-1.0, 2.0], [3.0, 4.0])
ON_A_FACE = jnp.asarray([3.0, 2.5])
SERIES = jnp.zeros((20, 2))


def test_on_a_surface_functions_are_those_of_the_place_in_space():
    sphere = ex.sphere()
    network = default_network(-ex.LaplaceBeltrami(sphere.embedding), ex.Uniform(sphere), 3, "smallest", KEY)
    east, west = (network(jnp.asarray([1.0, phi])) for phi in (0.0, 2 * np.pi))
    np.testing.assert_allclose(east, west, atol=1e-5)
    pole = [network(jnp.asarray([0.0, phi])) for phi in (0.0, 2.0)]
    np.testing.assert_allclose(*pole, atol=1e-5)


def test_a_solver_may_want_separate_networks():
    kernel, source = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2))), ex.Arrays(SERIES)
    assert default_network(kernel, source, 3, "largest", KEY, separate=True).separate
    assert not default_network(kernel, source, 3, "largest", KEY).separate


def test_functions_of_kernels_do_not_vanish_at_the_faces_of_a_box():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    assert (default_network(kernel, ex.Uniform(BOX), 3, "smallest", KEY)(ON_A_FACE) != 0).all()
    assert (default_network(kernel, ex.Arrays(SERIES), 3, "smallest", KEY)(ON_A_FACE) != 0).all()


def test_slowness_gets_a_constant_that_counts():
    network = default_network(ex.Slowness(), ex.TimeSeries(SERIES), 4, "smallest", KEY)
    u = network(ON_A_FACE)
    assert u.shape == (4,)
    assert u[0] == 1
    with pytest.raises(ValueError, match="n = 1 asks for the constant function alone"):
        default_network(ex.Slowness(), ex.TimeSeries(SERIES), 1, "smallest", KEY)


def test_images_get_convolutions():
    source = ex.TimeSeries(jnp.zeros((12, 2, 16, 16)))
    network = default_network(ex.Slowness(), source, 5, "smallest", KEY)
    assert isinstance(network.network.network, ex.Conv)
    assert eqx.filter_eval_shape(network, jnp.ones((2, 16, 16))).shape == (5,)

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


def test_differential_operators_on_a_box_get_functions_that_vanish_at_its_faces():
    network = default_network(-ex.Laplacian(), BOX, 3, "smallest", KEY)
    assert network(ON_A_FACE).shape == (3,)
    np.testing.assert_array_equal(network(ON_A_FACE), 0)
    assert (network(jnp.asarray(BOX.centre, jnp.float32)) != network(jnp.asarray([0.0, 3.5]))).all()


def test_so_they_do_under_a_mixture():
    source = ex.Mixture(BOX, [BOX, ex.Radial(1.0, [1.0, 3.0])], [0.5, 0.5])
    np.testing.assert_array_equal(default_network(-ex.Laplacian(), source, 3, "smallest", KEY)(ON_A_FACE), 0)


def test_kernels_on_a_box_and_operators_on_data_do_not():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    assert (default_network(kernel, BOX, 3, "smallest", KEY)(ON_A_FACE) != 0).all()
    assert (default_network(kernel, ex.Arrays(SERIES), 3, "smallest", KEY)(ON_A_FACE) != 0).all()


def test_slowness_gets_a_constant_that_counts():
    network = default_network(ex.Slowness(), ex.Clips(SERIES), 4, "smallest", KEY)
    u = network(ON_A_FACE)
    assert u.shape == (4,)
    assert u[0] == 1
    with pytest.raises(ValueError, match="n = 1 asks for the constant function alone"):
        default_network(ex.Slowness(), ex.Clips(SERIES), 1, "smallest", KEY)


def test_images_get_convolutions():
    source = ex.Clips(jnp.zeros((12, 2, 16, 16)))
    network = eqx.filter_eval_shape(lambda key: default_network(ex.Slowness(), source, 5, "smallest", key), KEY)
    assert isinstance(network.network, ex.Conv)
    assert eqx.filter_eval_shape(network, jnp.ones((2, 16, 16))).shape == (5,)

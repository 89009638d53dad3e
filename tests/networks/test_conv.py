"""Convolutions: shapes, strides and sparsity across feature maps."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.networks.block_sparse import mask

KEY = jax.random.key(0)
SHAPE, CHANNELS, OUTPUTS = (2, 9, 12), (6, 8), 4
IMAGE = jnp.asarray(np.random.default_rng(0).normal(size=SHAPE), jnp.float32)


@cache
def conv(**settings):
    defaults = {"channels": CHANNELS, "kernel": 3, "stride": 2, "width": 16, "activation": "softplus"}
    return ex.Conv(SHAPE, OUTPUTS, **(defaults | settings), key=KEY)


@jax.jit
def values(network):
    return network(IMAGE)


def convolve(x, kernel, stride):
    """Correlation with zeros around the image, so that one output stands for each `stride` pixels."""
    height, width, taps = *x.shape[1:], kernel.shape[-1]
    sizes = [-(-n // stride) for n in (height, width)]
    pads = [max((m - 1) * stride + taps - n, 0) for n, m in zip((height, width), sizes, strict=True)]
    x = np.pad(x, [(0, 0), *((p // 2, p - p // 2) for p in pads)])
    out = np.zeros((len(kernel), *sizes))
    for row, column in np.ndindex(*sizes):
        patch = x[:, row * stride : row * stride + taps, column * stride : column * stride + taps]
        out[:, row, column] = np.einsum("oihw,ihw->o", kernel, patch)
    return out


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_a_dense_network_is_convolutions_and_two_affine_maps(stride):
    network = conv(stride=stride, sparsity="none")
    x = np.asarray(IMAGE, np.float64)
    for kernel, bias in zip(network.kernels, network.kernel_biases, strict=True):
        x = np.log1p(np.exp(convolve(x, np.asarray(kernel), stride) + np.asarray(bias)[:, None, None]))
    hidden = np.log1p(np.exp(np.asarray(network.weights[0]) @ x.ravel() + np.asarray(network.biases[0])))
    expected = np.asarray(network.weights[1]) @ hidden + np.asarray(network.biases[1])
    assert network.weights[0].shape == (16, x.size)
    np.testing.assert_allclose(values(network), expected, rtol=1e-4, atol=1e-5)


def both(network):
    return network, network(jnp.ones((2, 64, 64)))


def test_the_defaults_are_the_papers():
    network, u = eqx.filter_eval_shape(lambda key: both(ex.Conv((2, 64, 64), 12, key=key)), KEY)
    assert [k.shape for k in network.kernels] == [(32, 2, 5, 5), (32, 32, 5, 5), (32, 32, 5, 5)]
    assert [w.shape for w in network.weights] == [(128, 32 * 8 * 8), (12, 128)]
    assert (network.stride, network.activation, network.separate) == (2, "relu", False)
    assert u.shape == (12,)


def test_sparsity_is_of_whole_feature_maps():
    network = conv()
    second = mask(2, 4, 6, 8, OUTPUTS, "isolated")
    assert not second.all()
    np.testing.assert_array_equal((np.asarray(network.kernels[1]) != 0).all((2, 3)), second)
    np.testing.assert_array_equal((np.asarray(network.kernels[1]) != 0).any((2, 3)), second)
    pixels = np.asarray(network.weights[0]).reshape(16, 8, 3 * 3)
    hidden = mask(3, 4, 8, 16, OUTPUTS, "isolated")
    assert not hidden.all()
    np.testing.assert_array_equal((pixels != 0).all(2), hidden)
    np.testing.assert_array_equal((pixels != 0).any(2), hidden)


def test_masked_kernels_change_nothing_and_have_no_gradient():
    network = conv()
    absent = ~mask(2, 4, 6, 8, OUTPUTS, "isolated")
    spoilt = eqx.tree_at(
        lambda n: (n.kernels[1], n.weights),
        network,
        (
            jnp.where(absent[:, :, None, None], 1e3, network.kernels[1]),
            tuple(jnp.where(w == 0, 1e3, w) for w in network.weights),
        ),
    )
    np.testing.assert_array_equal(values(network), values(spoilt))
    gradients = jax.jit(jax.grad(lambda n: jnp.sum(n(IMAGE) ** 2)))(spoilt)
    assert (np.asarray(gradients.kernels[1])[absent] == 0).all()
    assert (np.asarray(gradients.kernels[1])[~absent] != 0).all()
    for gradient, weight in zip(gradients.weights, network.weights, strict=True):
        np.testing.assert_array_equal(gradient != 0, weight != 0)


def test_an_isolated_output_depends_only_on_the_hidden_units_of_its_block():
    network = conv()

    def after_a_push(push):
        return eqx.tree_at(lambda n: n.biases[0], network, push)(IMAGE)

    jacobian = jax.jit(jax.jacobian(after_a_push))(network.biases[0])
    np.testing.assert_array_equal(jacobian != 0, mask(4, 4, 16, OUTPUTS, OUTPUTS, "isolated"))


def test_initial_kernels_neither_grow_nor_shrink_their_input():
    kernels = conv(channels=(64, 64)).kernels
    for kernel in kernels:
        gain = (np.asarray(kernel) ** 2).sum((1, 2, 3))
        assert gain.mean() == pytest.approx(1, abs=0.1)


def test_initial_outputs_are_neither_vanishing_nor_huge():
    images = np.random.default_rng(1).normal(size=(50, *SHAPE))
    u = jax.jit(jax.vmap(conv(activation="relu")))(jnp.asarray(images))
    assert 0.05 < float(jnp.sqrt(jnp.mean(u**2))) < 3


@pytest.mark.usefixtures("as_user")
def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"activation must be one of .*; got 'cosine'"):
        conv(activation="cosine")
    with pytest.raises(ValueError, match=r"sparsity must be one of .*; got 'random'"):
        conv(sparsity="random")


def test_sparsity_that_cuts_an_output_off_is_refused():
    with pytest.raises(ValueError, match="leaves unit 1 of 3 in layer 4 of 4 without inputs"):
        eqx.filter_eval_shape(lambda key: ex.Conv(SHAPE, 3, channels=(6, 8), sparsity="paper", key=key), KEY)

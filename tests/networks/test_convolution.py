"""All ways to convolve are one function, and so are their gradients and transposes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.networks.convolution import (
    _by_blocks,
    _by_matmul,
    _by_transposed_matmul,
    _channels_last,
    _to_blocks,
    _with_image_gradients,
)

IMAGE = jnp.asarray(np.random.default_rng(0).normal(size=(2, 9, 12)), jnp.float32)


def kernel_of(side):
    return jax.random.normal(jax.random.key(1), (3, 2, side, side))


def assert_same(expected, got):
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(got), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", [_by_blocks, _channels_last, _with_image_gradients])
@pytest.mark.parametrize(("side", "stride"), [(5, 2), (6, 2), (3, 1), (4, 3), (2, 3)])
def test_other_devices_take_other_ways_to_the_same_gradients(form, side, stride):
    def of_images(form):
        gradients = jax.value_and_grad(lambda x, kernel: jnp.sin(form(x, kernel, stride)).sum(), (0, 1))
        return jax.jit(jax.vmap(gradients, (0, None)))(jnp.stack([IMAGE, -IMAGE]), kernel_of(side))

    assert_same(of_images(_by_matmul), of_images(form))


@pytest.mark.parametrize(("side", "stride"), [(5, 2), (6, 2), (3, 1), (4, 3), (2, 3)])
def test_and_so_do_their_transposes(side, stride):
    small = _by_matmul(IMAGE, kernel_of(side), stride)

    def enlarge(form):
        gradients = jax.value_and_grad(lambda x, k: jnp.sin(form(x, k, stride, IMAGE.shape[1:])).sum(), (0, 1))
        return jax.jit(gradients)(small, kernel_of(side))

    assert_same(enlarge(_by_transposed_matmul), enlarge(_to_blocks))

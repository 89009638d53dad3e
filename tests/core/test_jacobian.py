"""The half Jacobian of Σ against explicit backward passes."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.core import jacobian as jac
from eigenax.core.rayleigh import second_moment
from eigenax.networks.base import WithConstant
from eigenax.networks.conv import Conv
from eigenax.networks.mlp import MLP, EnsembleMLP

N = 4


def networks():
    key = jax.random.key(0)
    return {
        "shared": MLP(2, N, width=10, depth=2, sparsity="none", key=key),
        "convolution": Conv((1, 6, 6), N, channels=(3,), kernel=3, width=5, sparsity="none", key=key),
        "separate": EnsembleMLP(2, N, width=5, depth=1, key=key),
        "separate with a constant": WithConstant(EnsembleMLP(2, N - 1, width=5, depth=1, key=key)),
    }


def pieces(network, shape=(2,)):
    x = jax.random.normal(jax.random.key(1), (7, *shape))
    weights = jax.random.uniform(jax.random.key(2), (7,)) + 0.5
    parameters, static = eqx.partition(network, eqx.is_inexact_array)

    def values(p):
        return jax.vmap(eqx.combine(p, static))(x)

    u, pullback = jax.vjp(values, parameters)
    return values, parameters, x, u, lambda c: pullback(c)[0], weights


@pytest.mark.parametrize(("name", "shape"), [("shared", (2,)), ("convolution", (1, 6, 6))])
def test_both_halves_are_the_jacobian_from_n_squared_backward_passes(name, shape):
    network = networks()[name]
    values, parameters, x, _, _, weights = pieces(network, shape)
    half = eqx.filter_jit(jac.half_jacobian)(network, x, weights)
    both = jax.tree.map(lambda t: t + jnp.swapaxes(t, 0, 1), half)

    @jax.jit
    @jax.grad
    def gradient_of_sigma(p, i, j):
        u = values(p)
        return second_moment(u, u, weights)[i, j]

    for i in range(N):
        for j in range(N):
            explicit = gradient_of_sigma(parameters, i, j)
            for a, b in zip(jax.tree.leaves(both), jax.tree.leaves(explicit), strict=True):
                np.testing.assert_allclose(a[i, j], b, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("name", ["separate", "separate with a constant"])
def test_separate_networks_need_n_numbers_a_parameter_and_contract_to_the_same(name):
    network = networks()[name]
    _, parameters, x, u, pullback, weights = pieces(network)
    gradient = jax.random.normal(jax.random.key(3), (N, N))
    full = jac.half_jacobian(network, x, weights)
    small = jac.half_jacobian_separate(pullback, u, weights)
    count = sum(p.size for p in jax.tree.leaves(parameters))
    assert sum(t.size for t in jax.tree.leaves(small)) == N * count
    assert sum(t.size for t in jax.tree.leaves(full)) == N * N * count
    expected, got = jac.contract(gradient, full), jac.contract_separate(gradient, small)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(got), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)

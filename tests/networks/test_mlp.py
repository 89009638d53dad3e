"""Multilayer perceptrons: what depends on what."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.networks.base import ACTIVATIONS
from eigenax.networks.block_sparse import masks

KEY, X = jax.random.key(0), jnp.asarray([0.3, -0.8])


def mlp(**settings):
    return ex.MLP(2, 4, **{"width": 24, "depth": 3, "key": KEY, **settings})


def test_a_dense_network_is_affine_maps_and_activations():
    network = mlp(sparsity="none", activation="tanh")
    x = np.asarray(X)
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        x = np.tanh(np.asarray(weight) @ x + np.asarray(bias))
    expected = np.asarray(network.weights[-1]) @ x + np.asarray(network.biases[-1])
    np.testing.assert_allclose(network(X), expected, rtol=1e-5)
    assert len(network.weights) == 4


def test_every_activation_is_finite_and_no_two_are_the_same():
    u = np.stack([mlp(activation=activation)(X) for activation in ACTIVATIONS])
    distances = np.abs(u[:, None] - u[None]).max(-1)
    assert np.isfinite(u).all()
    assert (distances + np.eye(len(u)) > 1e-4).all()


@pytest.mark.parametrize("sparsity", ["paper", "isolated"])
def test_masked_weights_change_nothing_and_have_no_gradient(sparsity):
    network = ex.MLP(2, 9, width=32, depth=3, sparsity=sparsity, key=KEY)
    allowed = masks([2, 32, 32, 32, 9], sparsity)
    spoilt = eqx.tree_at(
        lambda n: n.weights, network, tuple(jnp.where(m, w, 1e3) for m, w in zip(allowed, network.weights, strict=True))
    )
    np.testing.assert_array_equal(network(X), spoilt(X))
    gradients = jax.jit(jax.grad(lambda n: jnp.sum(n(X) ** 2)))(spoilt)
    for m, g in zip(allowed[1:], gradients.weights[1:], strict=True):
        assert not m.all()
        assert (np.asarray(g)[~m] == 0).all()
        assert (np.asarray(g)[m] != 0).all()


@pytest.mark.parametrize(("outputs", "width", "depth"), [(4, 24, 3), (9, 32, 3), (2, 5, 1)])
def test_an_isolated_output_depends_only_on_the_hidden_units_of_its_block(outputs, width, depth):
    network = ex.MLP(2, outputs, width=width, depth=depth, key=KEY)

    def after_a_push(push):
        return eqx.tree_at(lambda n: n.biases[-2], network, network.biases[-2] + push)(X)

    jacobian = np.asarray(jax.jit(jax.jacobian(after_a_push))(jnp.zeros(width)))
    layers, unit = depth + 1, np.arange(1, width + 1)
    for k in range(1, outputs + 1):
        start = (k - 1) / (outputs - 1) * depth / layers * width
        own = (unit >= start - 1e-9) & (unit <= start + width / layers + 1e-9)
        assert (jacobian[k - 1][~own] == 0).all()
        assert (jacobian[k - 1][own] != 0).all()


@pytest.mark.parametrize("activation", ["softplus", "tanh"])
@pytest.mark.parametrize("sparsity", ["none", "isolated"])
def test_initial_outputs_are_neither_vanishing_nor_huge(activation, sparsity):
    x = jnp.asarray(np.random.default_rng(1).normal(size=(500, 2)))
    u = jax.jit(jax.vmap(ex.MLP(2, 9, width=32, activation=activation, sparsity=sparsity, key=KEY)))(x)
    assert 0.2 < float(jnp.sqrt(jnp.mean(u**2))) < 5
    assert (u.std(0) > 0.02).all()


def test_another_key_is_another_network_and_the_same_key_the_same():
    np.testing.assert_array_equal(mlp()(X), mlp()(X))
    assert (mlp()(X) != mlp(key=jax.random.key(1))(X)).all()


def test_no_hidden_layer_is_a_linear_map():
    network = mlp(depth=0)
    np.testing.assert_allclose(network(2 * X) - network(X), network(X) - network(0 * X), rtol=1e-5)


def test_sparsity_that_cuts_an_output_off_is_refused():
    with pytest.raises(ValueError, match="sparsity='paper' leaves unit 1 of 3 in layer 4 of 4 without inputs"):
        ex.MLP(2, 3, depth=3, sparsity="paper", key=KEY)


@pytest.mark.usefixtures("as_user")
def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"activation must be one of softplus, .*; got 'cosine'"):
        mlp(activation="cosine")
    with pytest.raises(ValueError, match=r"sparsity must be one of .*; got 'random'"):
        mlp(sparsity="random")
    with pytest.raises(ValueError, match="got 'cosine'"):
        ex.EnsembleMLP(2, 3, activation="cosine", key=KEY)


def test_separate_outputs_depend_only_on_parameters_of_their_own():
    network = ex.EnsembleMLP(2, 3, width=5, depth=2, key=KEY)
    jacobian = jax.jit(jax.jacobian(lambda n: n(X)))(network)
    for leaf in jax.tree.leaves(jacobian):
        assert leaf.shape[:2] == (3, 3)
        others = ~np.eye(3, dtype=bool)
        assert (np.asarray(leaf)[others] == 0).all()
        assert all(np.abs(leaf[j, j]).max() > 0 for j in range(3))


def test_separate_networks_are_networks_side_by_side():
    network = ex.EnsembleMLP(2, 3, width=5, depth=2, key=KEY)
    alone = [
        ex.MLP(2, 1, width=5, depth=2, activation="tanh", sparsity="none", key=k) for k in jax.random.split(KEY, 3)
    ]
    np.testing.assert_allclose(network(X), np.concatenate([n(X) for n in alone]), rtol=1e-5)
    assert len(set(np.asarray(network(X)).tolist())) == 3


def test_networks_say_whether_they_share():
    assert ex.EnsembleMLP(2, 3, width=5, key=KEY).separate
    assert not mlp().separate

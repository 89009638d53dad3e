"""The hidden layer: the functions that the outputs of a network are combinations of, exactly."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.networks.base import hidden_layer, in_precision
from eigenax.networks.boundary import BoundaryCoordinates, BoxFactor, DirichletFactor

KEY = jax.random.key(0)
BOX = ex.Box([-1.0, 0.0], [1.0, 3.0], boundary=("dirichlet", "periodic"))


def perceptron(inputs=2, outputs=4, **settings):
    """With biases, which are zero to begin with and would make functions odd."""
    network = ex.MLP(inputs, outputs, **{"width": 12, "depth": 2, "activation": "tanh", "key": KEY, **settings})
    biases = tuple(jnp.cos(jnp.arange(b.size, dtype=b.dtype)) for b in network.biases)
    return eqx.tree_at(lambda n: n.biases, network, biases)


def separate():
    network = ex.EnsembleMLP(2, 3, width=6, depth=1, key=KEY)
    biases = tuple(jnp.cos(jnp.arange(b.size, dtype=b.dtype)).reshape(b.shape) for b in network.networks.biases)
    return eqx.tree_at(lambda n: n.networks.biases, network, biases)


def wrapped(network):
    return ex.WithConstant(ex.Multiply(DirichletFactor(BOX), ex.Compose(BoundaryCoordinates(BOX), network)))


NETWORKS = {
    "isolated": (perceptron, 13),
    "dense": (lambda: perceptron(sparsity="none"), 13),
    "without a hidden layer": (lambda: perceptron(depth=0), 3),
    "separate": (separate, 19),
    "bounded": (lambda: ex.Multiply(BoxFactor(BOX.low, BOX.high), perceptron()), 13),
    "on inputs": (lambda: ex.Compose(ex.ScaledInputs((0.0, 1.5), (1.0, 1.0)), separate()), 19),
    "with a constant": (lambda: ex.WithConstant(perceptron()), 14),
    "all wrappers": (lambda: wrapped(perceptron(inputs=3)), 14),
}


def pieces(network, count=200):
    """The hidden functions and the outputs at some points."""
    x = jnp.asarray(np.random.default_rng(0).uniform(BOX.low, BOX.high, (count, 2)))
    hidden = hidden_layer(network)
    return (np.asarray(part) for part in jax.jit(lambda x: (jax.vmap(hidden)(x), jax.vmap(network)(x)))(x))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_are_combinations_of_the_hidden_functions(name):
    make, size = NETWORKS[name]
    hidden, outputs = pieces(make())
    assert hidden.shape == (200, size)
    combination = np.linalg.lstsq(hidden, outputs)[0]
    np.testing.assert_allclose(hidden @ combination, outputs, atol=1e-10)
    assert np.linalg.matrix_rank(outputs) == min(size, outputs.shape[1])


@pytest.mark.usefixtures("float64")
def test_the_combination_is_that_of_the_last_layer():
    network = perceptron(sparsity="none")
    hidden, outputs = pieces(network)
    np.testing.assert_allclose(hidden[:, :-1] @ network.weights[-1].T + network.biases[-1], outputs, atol=1e-12)
    np.testing.assert_array_equal(hidden[:, -1], 1)


@pytest.mark.usefixtures("float64")
def test_hidden_functions_obey_the_same_edges():
    hidden = jax.jit(
        jax.vmap(
            hidden_layer(ex.Multiply(DirichletFactor(BOX), ex.Compose(BoundaryCoordinates(BOX), perceptron(inputs=3))))
        )
    )
    np.testing.assert_allclose(hidden(jnp.asarray([[-1.0, 1.0], [1.0, 2.0]])), 0, atol=1e-14)
    low, high = hidden(jnp.asarray([[0.3, 0.0], [0.3, 3.0]]))
    np.testing.assert_allclose(low, high, atol=1e-12)
    assert np.abs(low).min() > 1e-3


def test_what_does_not_say_is_its_own_hidden_layer():
    def function(x):
        return x

    assert hidden_layer(function) is function
    inputs = ex.ScaledInputs((0.0,), (1.0,))
    assert hidden_layer(ex.Compose(inputs, function)).network is function


def test_the_outputs_of_a_convolution_are_combinations_of_its_last_hidden_layer():
    conv = ex.Conv((1, 8, 8), 2, channels=(3,), width=8, sparsity="none", key=KEY)
    image = jax.random.normal(jax.random.key(1), (1, 8, 8))
    hidden = hidden_layer(conv)(image)
    assert hidden.shape == (9,)
    combinations = jnp.concatenate([conv.weights[1], conv.biases[1][:, None]], 1)
    np.testing.assert_allclose(conv(image), combinations @ hidden, rtol=1e-5)


def test_hidden_layers_share_what_their_networks_share():
    apart, shared = (eqx.filter_eval_shape(make) for make in (separate, perceptron))
    assert hidden_layer(apart).separate
    assert hidden_layer(ex.WithConstant(apart)).separate
    assert not hidden_layer(shared).separate


@pytest.mark.parametrize(("x64", "dtype"), [(False, jnp.float32), (True, jnp.float64)])
def test_parameters_take_the_precision_in_use_and_nothing_else_changes(x64, dtype):
    network = wrapped(perceptron(inputs=3))
    with jax.enable_x64(x64):
        taken = in_precision(network)
        leaves = jax.tree.leaves(eqx.filter(taken, eqx.is_inexact_array))
        assert {leaf.dtype for leaf in leaves} == {jnp.dtype(dtype)}
        for before, after in zip(jax.tree.leaves(network), jax.tree.leaves(taken), strict=True):
            np.testing.assert_array_equal(before, after)
    assert jax.tree.structure(taken) == jax.tree.structure(network)


@pytest.mark.usefixtures("float64")
def test_whole_numbers_stay_whole():
    class Counted(eqx.Module):
        weight: jax.Array
        count: jax.Array

    taken = in_precision(Counted(jnp.ones(2, jnp.float32), jnp.arange(3, dtype=jnp.int32)))
    assert (taken.weight.dtype, taken.count.dtype) == (jnp.float64, jnp.int32)

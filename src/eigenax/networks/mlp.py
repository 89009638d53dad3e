"""Fully connected networks: one that all functions share, or one for each function."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.core.compiled import for_one_run
from eigenax.networks.base import ACTIVATIONS, Activation, HiddenLayer, Network
from eigenax.networks.block_sparse import Sparsity, initial_weights, masks


class MLP(Network):
    """One multilayer perceptron for all functions, block-sparse as in the paper unless told otherwise.

    >>> import jax
    >>> MLP(2, 9, width=128, depth=4, key=jax.random.key(0))(jnp.zeros(2)).shape
    (9,)
    """

    weights: tuple[Float[Array, "outputs inputs"], ...]
    biases: tuple[Float[Array, " outputs"], ...]
    activation: Activation = eqx.field(static=True)
    sparsity: Sparsity = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        width: int = 64,
        depth: int = 3,
        activation: Activation = "softplus",
        sparsity: Sparsity = "isolated",
        key: PRNGKeyArray,
    ):
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}; got {activation!r}")
        self.activation, self.sparsity = activation, sparsity
        sizes = [inputs, *[width] * depth, outputs]
        keys = jax.random.split(key, len(sizes) - 1)
        self.weights = tuple(initial_weights(k, m) for k, m in zip(keys, masks(sizes, sparsity), strict=True))
        self.biases = tuple(jnp.zeros(size) for size in sizes[1:])

    @property
    def separate(self) -> bool:
        """No: all functions share the first layers."""
        return False

    def last_hidden(self, x: Float[Array, " d"]) -> Float[Array, " width"]:
        """The values of the last hidden layer at one point."""
        act = ACTIVATIONS[self.activation]
        hidden = list(zip(self._masks(), self.weights, self.biases, strict=True))[:-1]
        for allowed, weight, bias in hidden:
            x = act((weight * allowed) @ x + bias)
        return x

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """The raw values u at one point."""
        return (self.weights[-1] * self._masks()[-1]) @ self.last_hidden(x) + self.biases[-1]

    def hidden(self) -> HiddenLayer:
        """The last hidden layer as functions of their own."""
        return HiddenLayer(self)

    def _masks(self) -> list[Any]:
        return masks([self.weights[0].shape[1], *(w.shape[0] for w in self.weights)], self.sparsity)


@for_one_run
def _networks(key: PRNGKeyArray, count: int, inputs: int, width: int, depth: int, activation: Activation) -> MLP:
    """Several networks of one output each, with arrays stacked."""

    def network(key: PRNGKeyArray) -> MLP:
        return MLP(inputs, 1, width=width, depth=depth, activation=activation, sparsity="none", key=key)

    return eqx.filter_vmap(network)(jax.random.split(key, count))


class EnsembleMLP(Network):
    """A small network for each function, independent of the others.

    >>> import jax
    >>> EnsembleMLP(2, 9, width=24, depth=2, key=jax.random.key(0))(jnp.zeros(2)).shape
    (9,)
    """

    networks: MLP

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        width: int = 32,
        depth: int = 2,
        activation: Activation = "tanh",
        key: PRNGKeyArray,
    ):
        self.networks = _networks(key, outputs, inputs, width, depth, activation)

    @property
    def separate(self) -> bool:
        """Yes: each function has a network of its own."""
        return True

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """The raw values u at one point."""
        return self._over_networks(lambda network: network(x)[0])

    def last_hidden(self, x: Float[Array, " d"]) -> Float[Array, " width"]:
        """The values of the last hidden layers of all networks at one point."""
        return self._over_networks(lambda network: network.last_hidden(x)).reshape(-1)

    def hidden(self) -> HiddenLayer:
        """The last hidden layers of all networks as functions of their own."""
        return HiddenLayer(self)

    def _over_networks(self, function: Callable[[MLP], Array]) -> Float[Array, "k ..."]:
        return eqx.filter_vmap(function, in_axes=eqx.if_array(0))(self.networks)

"""Networks map one point to the values of k functions; wrappers change the inputs, multiply, or add a constant."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Activation = Literal["softplus", "tanh", "silu", "gelu", "sin", "relu"]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "softplus": jax.nn.softplus,
    "tanh": jnp.tanh,
    "silu": jax.nn.silu,
    "gelu": jax.nn.gelu,
    "sin": jnp.sin,
    "relu": jax.nn.relu,
}


class Network(eqx.Module):
    """Maps one point to the raw values u of k functions. Any `equinox.Module` that does this can take its place.

    The eigenfunctions are linear combinations of these raw functions.
    """

    @abstractmethod
    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " k"]:
        """The raw values u at one point."""

    @property
    @abstractmethod
    def separate(self) -> bool:
        """Whether the functions share no parameters; each array then has the functions along its leading axis."""


def is_separate(network: Any) -> bool:
    """Whether the functions share no parameters. A network without the property `separate` is taken to share them."""
    return getattr(network, "separate", False)


def hidden_layer(network: Any) -> Any:
    """The functions of which the outputs of a network are linear combinations: its last hidden layer.

    It is what the network's method `hidden` returns. For a network without that method, it is the outputs themselves.
    """
    return network.hidden() if hasattr(network, "hidden") else network


def in_precision(network: Any) -> Any:
    """The network with its parameters in the current default precision of new arrays."""
    default = jnp.zeros(()).dtype
    return jax.tree.map(lambda leaf: leaf.astype(default) if eqx.is_inexact_array(leaf) else leaf, network)


class HiddenLayer(Network):
    """The last hidden layer of a network, and the constant 1: the outputs are linear combinations of these.

    The network's method `last_hidden` evaluates that layer. For an `EnsembleMLP` it has the layers of all its networks.
    """

    network: Any

    @property
    def separate(self) -> bool:
        """Whether the functions of the network share no parameters."""
        return self.network.separate

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " f"]:
        """All hidden units and the constant at one point."""
        values = self.network.last_hidden(x)
        return jnp.concatenate([values, jnp.ones(1, values.dtype)])


class Compose(Network):
    """A network fed with features of the point: network(inputs(x))."""

    inputs: Callable[[Array], Array]
    network: Callable[[Array], Array]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " k"]:
        """The raw values u at one point."""
        return self.network(self.inputs(x))

    def hidden(self) -> Network:
        """The hidden layer of the inner network, with the same inputs."""
        return Compose(self.inputs, hidden_layer(self.network))

    @property
    def separate(self) -> bool:
        """Whether the functions of the inner network share no parameters."""
        return is_separate(self.network)


class Multiply(Network):
    """A network times a factor, such as one that vanishes at the boundary: factor(x) · network(x)."""

    factor: Callable[[Array], Array]
    network: Callable[[Array], Array]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " k"]:
        """The raw values u at one point."""
        return self.factor(x) * self.network(x)

    def hidden(self) -> Network:
        """The hidden layer of the inner network, times the same factor."""
        return Multiply(self.factor, hidden_layer(self.network))

    @property
    def separate(self) -> bool:
        """Whether the functions of the inner network share no parameters."""
        return is_separate(self.network)


class WithConstant(Network):
    """The constant 1 as first function, then those of a network. Orthogonality to it gives the others zero mean."""

    network: Callable[[Array], Array]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " k"]:
        """The constant 1 and the raw values u at one point."""
        u = self.network(x)
        return jnp.concatenate([jnp.ones(1, u.dtype), u])

    def hidden(self) -> Network:
        """The constant and the hidden layer of the inner network."""
        return WithConstant(hidden_layer(self.network))

    @property
    def separate(self) -> bool:
        """Whether the functions of the inner network share no parameters."""
        return is_separate(self.network)

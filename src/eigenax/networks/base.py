"""The network: one point in, k raw functions out; and wrappers that give them inputs, edges and a constant."""

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
    """One point in, the raw values u of all functions out. Any `equinox.Module` that does this will serve."""

    @abstractmethod
    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " k"]:
        """U at one point."""

    @property
    @abstractmethod
    def separate(self) -> bool:
        """Whether each parameter belongs to one function only, the functions along its leading axis."""


def is_separate(network: Any) -> bool:
    """Whether each parameter belongs to one function only; a network that does not say shares them."""
    return getattr(network, "separate", False)


def hidden_layer(network: Any) -> Any:
    """The functions that the outputs of a network are combinations of; the outputs, where it does not say.

    Networks of ours say so with a method `hidden`.
    """
    return network.hidden() if hasattr(network, "hidden") else network


def in_precision(network: Any) -> Any:
    """A network with its parameters in the precision that new arrays have now."""
    usual = jnp.zeros(()).dtype
    return jax.tree.map(lambda leaf: leaf.astype(usual) if eqx.is_inexact_array(leaf) else leaf, network)


class HiddenLayer(Network):
    """The last hidden layer of a network, or of many, and a constant: what its outputs are combinations of.

    The network says what that is with a method `last_hidden`.
    """

    network: Any

    @property
    def separate(self) -> bool:
        """As the network."""
        return self.network.separate

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " f"]:
        """All of them at one point."""
        values = self.network.last_hidden(x)
        return jnp.concatenate([values, jnp.ones(1, values.dtype)])


class Compose(Network):
    """A network fed with features of the point: network(inputs(x))."""

    inputs: Callable[[Array], Array]
    network: Callable[[Array], Array]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " k"]:
        """U at one point."""
        return self.network(self.inputs(x))

    def hidden(self) -> Network:
        """The hidden layer of the network inside."""
        return Compose(self.inputs, hidden_layer(self.network))

    @property
    def separate(self) -> bool:
        """As the network inside."""
        return is_separate(self.network)


class Multiply(Network):
    """A network times a factor that brings it to zero at a boundary: factor(x) · network(x)."""

    factor: Callable[[Array], Array]
    network: Callable[[Array], Array]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " k"]:
        """U at one point."""
        return self.factor(x) * self.network(x)

    def hidden(self) -> Network:
        """The hidden layer of the network inside."""
        return Multiply(self.factor, hidden_layer(self.network))

    @property
    def separate(self) -> bool:
        """As the network inside."""
        return is_separate(self.network)


class WithConstant(Network):
    """A constant first function before those of a network, so that the others have zero mean."""

    network: Callable[[Array], Array]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " k"]:
        """1 and U at one point."""
        u = self.network(x)
        return jnp.concatenate([jnp.ones(1, u.dtype), u])

    def hidden(self) -> Network:
        """The hidden layer of the network inside."""
        return WithConstant(hidden_layer(self.network))

    @property
    def separate(self) -> bool:
        """As the network inside."""
        return is_separate(self.network)

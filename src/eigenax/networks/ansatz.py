"""A network for many dimensions: a common factor that decays, times a shared network with a linear read-out."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.core.rayleigh import HIGHEST
from eigenax.networks.base import Network
from eigenax.networks.many_inputs import ManyInputs
from eigenax.networks.products import Product, values_of

REACH = 5.0
"""What anharmonic products take for inputs stays below this many standard deviations."""
FIRST_BIAS = 0.3
"""The standard deviation of the first layer's biases, which make odd functions of the inputs into general ones."""


class Ansatz(Network):
    """u(x) = exp(J(x) − ¼ |z|² − zᵀ A z) W f(x): the envelope that states share, times what tells them apart.

    z are those `inputs` of the point that are unbounded, whitened by the size of the states, so that the first Gaussian
    already fits them; bounded inputs, such as the cosine of a periodic axis, have none. The features f are the last of
    the residual layers h ← h + tanh(V h + b), the inputs y themselves, `products` of them, and the constant 1. The
    exponent J is linear in h, in y and in the `anharmonic` products of inputs; those are of inputs that are bounded by
    `REACH`, so that the Gaussian always wins far away. J is zero where all inputs are. A, W, V, b and the coefficients
    of J are trained.

    Products are those of `eigenax.networks.products`: (0, 0, 1) stands for p₂(y₀) p₁(y₁).

    >>> from eigenax import Box
    >>> from eigenax.networks.many_inputs import ManyInputs
    >>> inputs = ManyInputs.of(Box(-6, 6, dims=3), np.zeros(3), np.eye(3))
    >>> network = Ansatz(inputs, 4, width=8, depth=2, products=[(0, 0)], key=jax.random.key(0))
    >>> network(jnp.zeros(3)).shape, network.hidden()(jnp.zeros(3)).shape  # 8 units, 3 inputs, 1 product, constant
    ((4,), (13,))
    """

    inputs: ManyInputs
    products: tuple[Product, ...] = eqx.field(static=True)
    anharmonic: tuple[Product, ...] = eqx.field(static=True)
    weights: tuple[Float[Array, "width inputs"], ...]
    biases: tuple[Float[Array, " width"], ...]
    exponent: Float[Array, " e"]
    """The coefficients of J: of the hidden units, the inputs and the anharmonic products."""
    quadratic: Float[Array, " q"]
    """The lower triangle of A."""
    outputs: Float[Array, "k f"]
    """W."""

    def __init__(
        self,
        inputs: ManyInputs,
        outputs: int,
        *,
        width: int = 64,
        depth: int = 2,
        products: Sequence[Product] = (),
        anharmonic: Sequence[Product] = (),
        key: PRNGKeyArray,
    ):
        self.inputs, self.products, self.anharmonic = inputs, tuple(products), tuple(anharmonic)
        keys = jax.random.split(key, depth + 2)
        widths = [inputs.size] + [width] * depth
        self.weights = tuple(
            jax.random.normal(keys[layer], (width, widths[layer])) / math.sqrt(widths[layer]) for layer in range(depth)
        )
        first = FIRST_BIAS * jax.random.normal(keys[depth], (width,))
        self.biases = (first, *(jnp.zeros(width) for _ in range(depth - 1)))
        self.exponent = jnp.zeros(width + inputs.size + len(self.anharmonic))
        self.quadratic = jnp.zeros(inputs.unbounded * (inputs.unbounded + 1) // 2)
        features = width + inputs.size + len(self.products) + 1
        self.outputs = jax.random.normal(keys[depth + 1], (outputs, features)) / math.sqrt(features)

    @property
    def separate(self) -> bool:
        """No: all functions share everything but the read-out."""
        return False

    def last_layer(self, y: Float[Array, " m"]) -> Float[Array, " width"]:
        """The hidden units of one point, given its inputs."""
        hidden = jnp.tanh(jnp.matmul(self.weights[0], y, precision=HIGHEST) + self.biases[0])
        for weights, biases in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = hidden + jnp.tanh(jnp.matmul(weights, hidden, precision=HIGHEST) + biases)
        return hidden

    def log_envelope(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The logarithm of the common factor at one point."""
        y = self.inputs(x)
        return self._exponent(y, self.last_layer(y))

    def _exponent(self, y: Float[Array, " m"], hidden: Float[Array, " width"]) -> Float[Array, ""]:
        z = y[: self.inputs.unbounded]
        above = hidden - self.last_layer(jnp.zeros_like(y))
        bounded = jnp.concatenate([z / jnp.sqrt(1 + (z / REACH) ** 2), y[len(z) :]])
        exponent = self.exponent @ jnp.concatenate([above, y, values_of(self.anharmonic, bounded, len(z))])
        if not len(z):
            return exponent
        rows, columns = np.tril_indices(len(z))
        return exponent - z @ z / 4 - jnp.sum(self.quadratic * z[rows] * z[columns])

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """The raw values u at one point."""
        y = self.inputs(x)
        hidden = self.last_layer(y)
        features = jnp.concatenate(
            [hidden, y, values_of(self.products, y, self.inputs.unbounded), jnp.ones(1, y.dtype)]
        )
        return jnp.exp(self._exponent(y, hidden)) * jnp.matmul(self.outputs, features, precision=HIGHEST)

    def hidden(self) -> "Ansatz":
        """The features times the envelope, of which the outputs are linear combinations."""
        return self.with_outputs(jnp.eye(self.outputs.shape[1], dtype=self.outputs.dtype))

    def with_outputs(self, outputs: Float[Array | np.ndarray, "k g"]) -> "Ansatz":
        """The same envelope and features with another read-out W."""
        return eqx.tree_at(lambda a: a.outputs, self, jnp.asarray(outputs, self.outputs.dtype))

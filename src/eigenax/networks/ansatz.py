"""A network for many dimensions: a common factor that decays, times a shared network with a linear read-out."""

import functools
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

    Products are tuples of indices of inputs: (0, 0, 1) stands for y₀² y₁.

    >>> from eigenax import Box
    >>> from eigenax.networks.many_inputs import ManyInputs
    >>> inputs = ManyInputs.of(Box(-6, 6, dims=3), np.zeros(3), np.eye(3))
    >>> network = Ansatz(inputs, 4, width=8, depth=2, products=[(0, 0)], key=jax.random.key(0))
    >>> network(jnp.zeros(3)).shape, network.hidden()(jnp.zeros(3)).shape  # 8 units, 3 inputs, 1 product, constant
    ((4,), (13,))
    """

    inputs: ManyInputs
    products: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    anharmonic: tuple[tuple[int, ...], ...] = eqx.field(static=True)
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
        products: Sequence[tuple[int, ...]] = (),
        anharmonic: Sequence[tuple[int, ...]] = (),
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

    def envelope_and_features(self, x: Float[Array, " d"]) -> tuple[Float[Array, ""], Float[Array, " f"]]:
        """The common factor at one point, and the features."""
        y = self.inputs(x)
        hidden, z = self.last_layer(y), y[: self.inputs.unbounded]
        above = hidden - self.last_layer(jnp.zeros_like(y))
        bounded = y / jnp.sqrt(1 + (y / REACH) ** 2)
        exponent = self.exponent @ jnp.concatenate([above, y, _products(bounded, self.anharmonic)])
        if len(z):
            rows, columns = np.tril_indices(len(z))
            exponent = exponent - z @ z / 4 - jnp.sum(self.quadratic * z[rows] * z[columns])
        features = jnp.concatenate([hidden, y, _products(y, self.products), jnp.ones(1, y.dtype)])
        return jnp.exp(exponent), features

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """The raw values u at one point."""
        envelope, features = self.envelope_and_features(x)
        return envelope * jnp.matmul(self.outputs, features, precision=HIGHEST)

    def hidden(self) -> "Ansatz":
        """The features times the envelope, of which the outputs are linear combinations."""
        return self.with_outputs(jnp.eye(self.outputs.shape[1], dtype=self.outputs.dtype))

    def with_outputs(self, outputs: Float[Array | np.ndarray, "k g"]) -> "Ansatz":
        """The same envelope and features with another read-out W."""
        return eqx.tree_at(lambda a: a.outputs, self, jnp.asarray(outputs, self.outputs.dtype))


def _products(y: Float[Array, " m"], of: tuple[tuple[int, ...], ...]) -> Float[Array, " p"]:
    """Products of the inputs with these indices."""
    if not of:
        return y[:0]
    most = max(map(len, of))
    padded = np.array([[*one, *[len(y)] * (most - len(one))] for one in of])
    factors = jnp.append(y, jnp.ones(1, y.dtype))[padded.T]
    return functools.reduce(jnp.multiply, factors)


def lowest_products(
    energies: Float[np.ndarray, " m"], count: int, least: int = 2, most: int = 4
) -> list[tuple[int, ...]]:
    """Products of two to `most` inputs with the lowest sum of energies: the overtones and combinations of oscillators.

    In a harmonic potential, the product of Hermite polynomials with these degrees is an excitation of that energy.

    >>> lowest_products(np.array([1.0, 1.8]), 3)
    [(0, 0), (0, 1), (0, 0, 0)]
    """
    found: list[tuple[float, tuple[int, ...]]] = []
    level: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for degree in range(1, most + 1):
        longer = [
            ((*one, axis), energy + float(energies[axis]))
            for one, energy in level
            for axis in range(one[-1] if one else 0, len(energies))
        ]
        # Only the lowest of a degree can be part of a low product of the next degree.
        level = sorted(longer, key=lambda each: (each[1], each[0]))[: max(count, len(energies))]
        found += [(energy, one) for one, energy in level if degree >= least]
    return [one for _, one in sorted(found, key=lambda each: (each[0], len(each[1]), each[1]))[:count]]

"""The network that `solve` takes when none is given, but for differential operators on a box."""

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from eigenax.checks import check_not_constant_alone
from eigenax.networks.base import Compose, Network, WithConstant
from eigenax.networks.conv import Conv
from eigenax.networks.features import ScaledInputs, ScaledPixels
from eigenax.networks.mlp import MLP, EnsembleMLP
from eigenax.operators.base import Operator
from eigenax.sources.base import Source


def default_network(
    operator: Operator, source: Source, n: int, which: str, key: PRNGKeyArray, separate: bool = False
) -> Network:
    """A convolution for images and otherwise a perceptron, or a separate one for each function.

    With a constant first function where one is known, and inputs of order one.
    """
    constant = operator.fixes_constants and which == "smallest"
    if constant:
        check_not_constant_alone(n)
    learned = n - 1 if constant else n
    if len(source.shape) not in {1, 3}:
        raise ValueError(
            f"points of shape {source.shape} are neither vectors (d,) nor images (channels, height, width); "
            "flatten them, add an axis, or give a network"
        )
    if operator.wants_boundary:
        raise ValueError(
            f"a differential operator needs functions that vanish at the edge of the domain, and "
            f"{type(source).__name__} names no edge; draw from a Box, or give a network that vanishes where it must"
        )
    network = _perceptron(source, learned, key, separate) if len(source.shape) == 1 else _images(source, learned, key)
    return WithConstant(network) if constant else network


def _images(source: Source, outputs: int, key: PRNGKeyArray) -> Network:
    """A convolution of pixels that have mean zero and standard deviation one."""
    inputs = ScaledPixels.of(np.asarray(source.sample(jax.random.key(0), 64).x))
    channels, height, width = source.shape
    return Compose(inputs, Conv((channels, height, width), outputs, activation="silu", sparsity="none", key=key))


def _perceptron(source: Source, outputs: int, key: PRNGKeyArray, separate: bool) -> Network:
    """Of the point, or on a surface of its place in space, in units of what the source draws."""
    place, embedding = source.domain is not None, source.domain and source.domain.embedding
    batch = source.sample_qmc(jax.random.key(0), 1024)
    values = np.asarray(batch.x if embedding is None else jax.vmap(embedding)(batch.x), np.float64)
    # n modes of a place have about n^(1/d) zeros along each axis, and the network should begin as lively as that.
    lively = max(3.0, 0.9 * outputs ** (1 / source.shape[0])) / np.sqrt(3) if place else 1.0
    inputs = _scaled(values, np.asarray(batch.weights, np.float64), lively)
    kind = EnsembleMLP if separate else MLP
    network = Compose(inputs, kind(inputs.size, outputs, activation="sin" if place else "tanh", key=key))
    return network if embedding is None else Compose(embedding, network)


def _scaled(values: Float[np.ndarray, "b m"], weights: Float[np.ndarray, " b"], size: float) -> ScaledInputs:
    """Inputs of mean zero and the given standard deviation, whatever their units."""
    mean = np.average(values, axis=0, weights=weights)
    spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    return ScaledInputs(tuple(mean.tolist()), tuple(np.where(spread > 0, spread / size, 1.0).tolist()))

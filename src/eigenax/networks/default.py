"""The network that `solve` makes when none is given, except for differential operators on a box."""

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
    """A convolutional network for images; otherwise a perceptron, or one for each function if `separate`.

    Its inputs are scaled to be of order one. Where the constant is known to be the first eigenfunction, the network has
    it as its first function.
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
    network = (
        _perceptron(source, learned, key, separate) if len(source.shape) == 1 else _image_network(source, learned, key)
    )
    return WithConstant(network) if constant else network


def _image_network(source: Source, outputs: int, key: PRNGKeyArray) -> Network:
    """A convolutional network of pixels scaled to mean zero and standard deviation one."""
    inputs = ScaledPixels.of(np.asarray(source.sample(jax.random.key(0), 64).x))
    channels, height, width = source.shape
    return Compose(inputs, Conv((channels, height, width), outputs, activation="silu", sparsity="none", key=key))


def _perceptron(source: Source, outputs: int, key: PRNGKeyArray, separate: bool) -> Network:
    """A perceptron of the point, or on a surface of its embedding in space, scaled by mean and spread of samples."""
    on_domain, embedding = source.domain is not None, source.domain and source.domain.embedding
    batch = source.sample_qmc(jax.random.key(0), 1024)
    values = np.asarray(batch.x if embedding is None else jax.vmap(embedding)(batch.x), np.float64)
    # n modes of a domain have about n^(1/d) zeros along each axis. Inputs this large give the initial network as many.
    input_size = max(3.0, 0.9 * outputs ** (1 / source.shape[0])) / np.sqrt(3) if on_domain else 1.0
    inputs = _scaled(values, np.asarray(batch.weights, np.float64), input_size)
    kind = EnsembleMLP if separate else MLP
    network = Compose(inputs, kind(inputs.size, outputs, activation="sin" if on_domain else "tanh", key=key))
    return network if embedding is None else Compose(embedding, network)


def _scaled(values: Float[np.ndarray, "b m"], weights: Float[np.ndarray, " b"], size: float) -> ScaledInputs:
    """Inputs scaled to mean zero and to the standard deviation `size`, whatever their units."""
    mean = np.average(values, axis=0, weights=weights)
    spread = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    return ScaledInputs(tuple(mean.tolist()), tuple(np.where(spread > 0, spread / size, 1.0).tolist()))

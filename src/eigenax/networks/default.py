"""The network that `solve` takes when none is given."""

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from eigenax.networks.base import Bounded, Network, OnInputs, WithConstant
from eigenax.networks.boundary import BoxFactor
from eigenax.networks.conv import Conv
from eigenax.networks.features import ScaledInputs
from eigenax.networks.mlp import MLP
from eigenax.operators.base import Operator
from eigenax.sources.base import Source
from eigenax.sources.mixture import box_of


def default_network(operator: Operator, source: Source, n: int, which: str, key: PRNGKeyArray) -> Network:
    """Block-sparse, a convolution for images and an MLP otherwise, with what operator and source ask for:
    zero at the faces of a box for differential operators, a constant first function where one is known, inputs of
    order one."""
    constant = operator.fixes_constants and which == "smallest"
    learned = n - 1 if constant else n
    if learned == 0:
        raise ValueError("n = 1 asks for the constant function alone, which this operator always has; ask for more")
    if len(source.shape) not in {1, 3}:
        raise ValueError(
            f"points of shape {source.shape} are neither vectors (d,) nor images (channels, height, width); "
            "flatten them, add an axis, or give a network"
        )
    box = box_of(source)
    if len(source.shape) == 3:
        network: Network = Conv(source.shape, learned, key=key)
    else:
        network = MLP(source.shape[0], learned, activation="tanh" if box is None else "sin", key=key)
    if box is not None:
        # n modes of a box have about n^(1/d) zeros along each axis, and the network should begin as lively as that.
        radians = max(3.0, 0.9 * n ** (1 / len(box.low)))
        inputs = ScaledInputs(tuple(box.centre.tolist()), tuple((box.half_width / radians).tolist()))
        network = OnInputs(inputs, network)
        if operator.wants_boundary:
            network = Bounded(BoxFactor(box.low, box.high), network)
    elif operator.wants_boundary:
        raise ValueError(
            f"a differential operator needs functions that vanish at the edge of the domain, and "
            f"{type(source).__name__} names no edge; draw from a Box, or give a network that vanishes where it must"
        )
    elif len(source.shape) == 1:
        network = OnInputs(_standardised(source), network)
    return WithConstant(network) if constant else network


def _standardised(source: Source) -> ScaledInputs:
    """Inputs of mean zero and variance one, whatever the units of the data."""
    x = np.asarray(source.sample(jax.random.key(0), 1024).x, np.float64)
    spread = x.std(0)
    return ScaledInputs(tuple(x.mean(0).tolist()), tuple(np.where(spread > 0, spread, 1.0).tolist()))

"""The paper's block-sparse weights: features shared in the first layers, separate blocks in the last."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

Sparsity = Literal["none", "paper", "isolated"]
"""`"paper"`: its formula taken literally in every layer, where neighbouring blocks still overlap in the outputs.
`"isolated"`: the same but for the last layer, where each output reads its own block alone. `"none"`: dense."""


def block(position: int, of: int, layer: int, layers: int, units: int) -> Bool[np.ndarray, " units"]:
    """The units of block k = `position` of K = `of` on one side of layer ℓ of L, counted from 1.

    Unit i belongs if (k−1)/(K−1) · (ℓ−1)/L · m ≤ i ≤ (k−1)/(K−1) · (ℓ−1)/L · m + (L−ℓ+1)/L · m.

    >>> block(position=2, of=2, layer=2, layers=2, units=4)
    array([False,  True,  True,  True])
    """
    # Rational arithmetic: interval ends that fall on a unit must not depend on rounding.
    index = np.arange(1, units + 1) * (of - 1) * layers
    start = (position - 1) * (layer - 1) * units
    width = (layers - layer + 1) * units * (of - 1)
    return (start <= index) & (index <= start + width)


@lru_cache(maxsize=256)
def mask(
    layer: int, layers: int, inputs: int, outputs: int, blocks: int, sparsity: Sparsity
) -> Bool[np.ndarray, "outputs inputs"]:
    """Which weights of layer ℓ of L may differ from zero. One block, or the first layer, is dense.

    >>> int(mask(layer=3, layers=3, inputs=6, outputs=3, blocks=3, sparsity="isolated").sum())
    8
    """
    if sparsity not in get_args(Sparsity):
        raise ValueError(f"sparsity must be one of {', '.join(get_args(Sparsity))}; got {sparsity!r}")
    dense = sparsity == "none" or blocks == 1
    allowed = np.full((outputs, inputs), dense)
    isolate = sparsity == "isolated" and layer == layers
    for k in range(1, 1 if dense else blocks + 1):
        rows = np.arange(outputs) == k - 1 if isolate else block(k, blocks, layer, layers, outputs)
        allowed |= np.outer(rows, block(k, blocks, layer, layers, inputs))
    dead = np.flatnonzero(~allowed.any(1))
    instead = "sparsity='isolated', " if sparsity == "paper" else ""
    if dead.size:
        raise ValueError(
            f"sparsity={sparsity!r} leaves unit {dead[0] + 1} of {outputs} in layer {layer} of {layers} "
            f"without inputs; use {instead}fewer layers or wider ones"
        )
    allowed.setflags(write=False)
    return allowed


def masks(sizes: Sequence[int], sparsity: Sparsity) -> list[Bool[np.ndarray, "outputs inputs"]]:
    """The masks of a network whose layers have these sizes, inputs first, with one block for each output."""
    layers = len(sizes) - 1
    return [mask(layer, layers, sizes[layer - 1], sizes[layer], sizes[-1], sparsity) for layer in range(1, layers + 1)]


def initial_weights(
    key: PRNGKeyArray, allowed: Bool[np.ndarray, "outputs inputs"], extent: int = 1
) -> Float[Array, "outputs inputs"]:
    """Normal weights of variance one over the number of inputs that each unit really has."""
    fan_in = allowed.sum(1, keepdims=True) * extent
    return jax.random.normal(key, allowed.shape) * jnp.asarray(allowed / np.sqrt(fan_in), float)

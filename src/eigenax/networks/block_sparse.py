"""The paper's block-sparse weights: shared features in the first layer, ever more separate blocks in later ones."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from eigenax.core.compiled import normal

Sparsity = Literal["none", "paper", "isolated"]
"""`"paper"`: the paper's formula in every layer; neighbouring blocks then still overlap in the outputs.
`"isolated"`: the same except in the last layer, where each output reads only its own block. `"none"`: dense layers."""


def units_of_block(block: int, blocks: int, layer: int, layers: int, units: int) -> Bool[np.ndarray, " units"]:
    """Which of the m `units` at the inputs, or at the outputs, of layer ℓ of L belong to block k of K.

    All are counted from 1. Unit i belongs to the block if
    (k−1)/(K−1) · (ℓ−1)/L · m ≤ i ≤ (k−1)/(K−1) · (ℓ−1)/L · m + (L−ℓ+1)/L · m.

    >>> units_of_block(block=2, blocks=2, layer=2, layers=2, units=4)
    array([False,  True,  True,  True])
    """
    # In whole numbers, multiplied by (K−1) L: whether an interval ends exactly on a unit must not depend on rounding.
    index = np.arange(1, units + 1) * (blocks - 1) * layers
    start = (block - 1) * (layer - 1) * units
    width = (layers - layer + 1) * units * (blocks - 1)
    return (start <= index) & (index <= start + width)


@lru_cache(maxsize=256)
def mask(
    layer: int, layers: int, inputs: int, outputs: int, blocks: int, sparsity: Sparsity
) -> Bool[np.ndarray, "outputs inputs"]:
    """Which weights of layer ℓ of L may be non-zero: all of them in the first layer, or if there is only one block.

    >>> int(mask(layer=3, layers=3, inputs=6, outputs=3, blocks=3, sparsity="isolated").sum())
    8
    """
    if sparsity not in get_args(Sparsity):
        raise ValueError(f"sparsity must be one of {', '.join(get_args(Sparsity))}; got {sparsity!r}")
    dense = sparsity == "none" or blocks == 1
    allowed = np.full((outputs, inputs), dense)
    isolate = sparsity == "isolated" and layer == layers
    for k in range(1, 1 if dense else blocks + 1):
        rows = np.arange(outputs) == k - 1 if isolate else units_of_block(k, blocks, layer, layers, outputs)
        allowed |= np.outer(rows, units_of_block(k, blocks, layer, layers, inputs))
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
    """The masks of all layers of a network with one block per output; `sizes` starts with the number of inputs."""
    layers = len(sizes) - 1
    return [mask(layer, layers, sizes[layer - 1], sizes[layer], sizes[-1], sparsity) for layer in range(1, layers + 1)]


def initial_weights(
    key: PRNGKeyArray, allowed: Bool[np.ndarray, "outputs inputs"], kernel_pixels: int = 1
) -> Float[Array, "outputs inputs"]:
    """Normally distributed weights of variance 1/fan-in, where the fan-in counts only the inputs that the mask allows.

    In a convolution each of these inputs has `kernel_pixels` weights.
    """
    fan_in = allowed.sum(1, keepdims=True) * kernel_pixels
    return normal(key, jnp.asarray(allowed / np.sqrt(fan_in), float))

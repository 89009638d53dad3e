"""The one list of random streams: all that is random comes from a seed, and from what it is for."""

import enum

import jax
from jaxtyping import PRNGKeyArray


@enum.unique
class Stream(enum.IntEnum):
    """What random numbers are for, and the number that tells it apart from all else of the same seed.

    Numbers never change and are never used again: a seed's results are to keep their bits.
    """

    NETWORK = 0
    """First parameters of the network."""
    TRAINING = 1
    """The steps of a solver."""
    FINDING = 2
    """Samples that combinations of functions are found on."""
    MEASURING = 3
    """Samples that eigenvalues and their errors are measured on."""
    SIGNS = 4
    """Samples that tell the sign of each function."""
    DIFFUSION = 5
    """Walkers of diffusion Monte Carlo."""
    DENSITY = 6
    """Points that stand for the density of states that were found."""
    MATRIX_ELEMENTS = 7
    """Samples that matrix elements are means over."""
    QUADRATURE = 8
    """Points of quadratures, and which rows of data stand for all."""
    CAUSE = 9
    """Points at which the cause of large errors is looked for."""
    SUCCESSOR = 10
    """First parameters of what learns successor features."""
    OVERLAPS = 11
    """Samples that overlaps with functions of a closed form are means over."""
    EFFECTIVE_SAMPLES = 12
    """Points at which it is told how unequal weights are."""
    RESIDUALS = 13
    """Points that tell where residuals are."""
    ELSEWHERE = 14
    """Draws of held-out data that eigenvalues are measured on, where these have no order."""
    DIFFUSION_AGAIN = 15
    """Walkers of diffusion Monte Carlo that look once more, each time with the key folded in by its number."""

    # In the key of `TRAINING`, where all other numbers are steps, counted from zero.
    HELD_OUT = 2**31 - 2
    """Batches of what is trained on and of held-out data, which tell when to stop; the same ones after every chunk."""
    SAMPLER = 2**31 - 1
    """What a sampler remembers at first."""


def stream(seed: int | PRNGKeyArray, purpose: Stream) -> PRNGKeyArray:
    """The key of a stream of a seed, or of a key.

    >>> bool(stream(0, Stream.TRAINING) == stream(0, Stream.NETWORK))
    False
    """
    key = seed if isinstance(seed, jax.Array) else jax.random.key(seed)
    return jax.random.fold_in(key, purpose)

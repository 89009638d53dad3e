"""The one list of random streams: all that is random comes from a seed, and from what it is for."""

import enum

import jax
from jaxtyping import PRNGKeyArray


@enum.unique
class Stream(enum.IntEnum):
    """What random numbers are for, and the number that tells it apart from all else of the same seed.

    Numbers never change and are never used again, so that a seed keeps its results to the last bit.
    """

    NETWORK = 0
    """Initial parameters of the network."""
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
    """Initial parameters of the network of successor features."""
    OVERLAPS = 11
    """Samples that overlaps with functions of a closed form are means over."""
    EFFECTIVE_SAMPLES = 12
    """Points that tell the effective number of samples."""
    RESIDUALS = 13
    """Points that tell where residuals are."""
    ELSEWHERE = 14
    """Draws of held-out data that eigenvalues are measured on, where these have no order."""
    FIRST_OUTPUTS = 15
    """Markov chains of the features of a network, whose best combinations are its first outputs."""
    CHAINS = 16
    """Markov chains that trained functions are measured on."""
    NORM = 17
    """Points that tell the norm of functions known on Markov chains only."""
    GAUSSIAN = 18
    """Points of the Gaussian of lowest energy."""

    # Folded into the key of `TRAINING`, as are the numbers of the steps, counted from zero.
    HELD_OUT = 2**31 - 2
    """Batches of training data and of held-out data, which tell when to stop; the same ones after every chunk."""
    SAMPLER = 2**31 - 1
    """The initial state of a sampler."""


def stream(seed: int | PRNGKeyArray, purpose: Stream) -> PRNGKeyArray:
    """The key of a stream of a seed, or of a key.

    >>> bool(stream(0, Stream.TRAINING) == stream(0, Stream.NETWORK))
    False
    """
    key = seed if isinstance(seed, jax.Array) else jax.random.key(seed)
    return jax.random.fold_in(key, purpose)

"""The state of a run: the solver's, the random key and the step."""

from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int, UInt32


class RunState(NamedTuple):
    """Everything a run needs to go on."""

    solver: Any
    key: UInt32[Array, " words"]
    """The raw data of the run's random key; a step's key is this one folded with the step."""
    step: Int[Array, ""]
    lowest: Float[Array, " 2"]
    """The lowest sum of residuals so far, and the step it was seen at."""
    ended: Int[Array, ""]
    """Which of `stopping.REASONS` ended the training; the first stands for none."""

"""The state of a run: the solver's, the random key and the step."""

from typing import Any, NamedTuple

from jaxtyping import Array, Int, UInt32


class RunState(NamedTuple):
    """Everything a run needs to go on."""

    solver: Any
    key: UInt32[Array, " words"]
    """The raw data of the run's random key; a step's key is this one folded with the step."""
    step: Int[Array, ""]

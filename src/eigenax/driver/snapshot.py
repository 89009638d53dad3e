"""What callbacks see of a run."""

from collections.abc import Callable
from typing import Any, NamedTuple

from eigenax.stop_reason import StopReason


class Snapshot(NamedTuple):
    """A run as it is before its first step, with no metrics, and after each step of the driver."""

    step: int
    max_steps: int
    seconds: float
    """Of the run so far, earlier sessions included, compilation left out."""
    compile_seconds: float
    metrics: dict[str, Any]
    """What the solver says of the step, as numbers and lists."""
    state: Any
    """The solver's."""
    stop_reason: StopReason | None = None
    """Why the run ended, once it has."""


Callback = Callable[[Snapshot], None]
"""What is called with each of them; it may end the run by raising."""

"""What callbacks see of a run."""

from collections.abc import Callable
from typing import Any, NamedTuple

from eigenax.stop_reason import StopReason


class Snapshot(NamedTuple):
    """A run at one moment: before its first step, then without metrics, or after a step."""

    step: int
    max_steps: int
    seconds: float
    """Run time so far, including earlier sessions but without compilation."""
    compile_seconds: float
    metrics: dict[str, Any]
    """What the solver reports about the step, as numbers and lists of numbers."""
    state: Any
    """The state of the solver."""
    stop_reason: StopReason | None = None
    """Why the run ended, once it has."""


Callback = Callable[[Snapshot], None]
"""What is called with each of them; it may end the run by raising."""

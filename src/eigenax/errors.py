"""The errors of a run, worded for the person who started it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eigenax.driver.snapshot import Snapshot


class RunError(RuntimeError):
    """A run cannot start, continue or be read; the message says why and what to do."""


class InputError(RunError):
    """The data or settings that a user gave a run cannot be used."""


class SingularMomentsError(RunError):
    """Σ of the learned functions has no Cholesky factor: some depend linearly on others, or are not finite."""


class StoppedError(RunError):
    """Training ended early; `snapshot` is the last good one."""

    def __init__(self, message: str, snapshot: "Snapshot"):
        super().__init__(message)
        self.snapshot = snapshot


class DivergedError(StoppedError):
    """Training diverged: NaN appeared, or the covariance has no Cholesky factor."""


class InterruptedRun(StoppedError):
    """The run was interrupted with Ctrl-C."""

"""What goes wrong in a run, in words for the person who started it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eigenax.driver.snapshot import Snapshot


class RunError(RuntimeError):
    """A run that cannot begin, go on or be read; the message says why and what to do."""


class InputError(RunError):
    """What a user gave a run to work on cannot be used."""


class SingularMomentsError(RunError):
    """Σ of the learned functions has no Cholesky factor: some are combinations of others, or not finite."""


class StoppedError(RunError):
    """Training that ended early, with the last good snapshot kept."""

    def __init__(self, message: str, snapshot: "Snapshot"):
        super().__init__(message)
        self.snapshot = snapshot


class DivergedError(StoppedError):
    """NaN or a covariance without Cholesky factor during training."""


class InterruptedRun(StoppedError):
    """Ctrl-C."""

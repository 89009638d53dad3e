"""A run's folder while it trains: metrics, checkpoints, and where to go on from."""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

from eigenax.training.checkpoint import load_newest, save_checkpoint
from eigenax.training.errors import RunError
from eigenax.training.loop import Moment
from eigenax.training.metrics import append_metrics, rewind_metrics
from eigenax.training.state import RunState

SECONDS_BETWEEN_CHECKPOINTS = 10.0


class Resumed(NamedTuple):
    """Where a run goes on from."""

    state: RunState
    seconds: float = 0.0
    compile_seconds: float = 0.0
    notices: tuple[str, ...] = ()
    """What a person should know: checkpoints that were refused, and why."""


class Session:
    """Writes metrics and checkpoints into a folder as a callback of the loop, and finds the newest checkpoint.

    `settings` are what a checkpoint must agree on to be continued.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]):
        self.folder, self.settings = folder, settings
        self._saved = -float("inf")
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def metrics(self) -> Path:
        """One line for each log point."""
        return self.folder / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The newest few states."""
        return self.folder / "checkpoints"

    def resume(self, fresh: RunState) -> Resumed:
        """The newest whole checkpoint, or the fresh state."""
        found, notices = load_newest(self.checkpoints, fresh)
        if found is None:
            rewind_metrics(self.metrics, -1)
            return Resumed(fresh, notices=tuple(notices))
        state, about = found
        self._refuse_other_settings(about["settings"])
        rewind_metrics(self.metrics, int(state.step))
        return Resumed(state, about["seconds"], about["compile_seconds"], tuple(notices))

    def __call__(self, moment: Moment) -> None:
        """Log every moment, and save now and then and at the end."""
        if moment.metrics:
            append_metrics(self.metrics, {"step": moment.step, "seconds": round(moment.seconds, 3), **moment.metrics})
        due = time.monotonic() - self._saved > SECONDS_BETWEEN_CHECKPOINTS
        if moment.step > 0 and (due or moment.step == moment.steps):
            self.save(moment)

    def save(self, moment: Moment) -> None:
        """Write a checkpoint now."""
        about = {
            "settings": self.settings,
            "seconds": moment.seconds,
            "compile_seconds": moment.compile_seconds,
        }
        save_checkpoint(self.checkpoints, moment.step, moment.state, about)
        self._saved = time.monotonic()

    def _refuse_other_settings(self, saved: dict[str, Any]) -> None:
        # Through JSON, as the saved ones went, so that tuples compare with lists.
        wanted = json.loads(json.dumps(self.settings))
        differing = sorted(k for k in wanted.keys() | saved.keys() if wanted.get(k) != saved.get(k))
        if differing:
            changes = ", ".join(f"{k} was {saved.get(k)} and is {wanted.get(k)}" for k in differing)
            raise RunError(f"{self.folder} holds another run ({changes}); choose another folder")

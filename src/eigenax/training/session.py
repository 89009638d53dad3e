"""A run's folder while it trains: metrics, checkpoints, and where to go on from."""

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eigenax.errors import RunError, StoppedError
from eigenax.io.checkpoint import load_newest, save_checkpoint
from eigenax.io.files import locked, make_folder
from eigenax.io.metrics import append_metrics, rewind_metrics
from eigenax.training.loop import Moment
from eigenax.training.state import RunState

SECONDS_BETWEEN_CHECKPOINTS = 10.0
SHARE_OF_SAVING = 0.05
"""Of the time, at most, is spent on checkpoints."""


class Resumed(NamedTuple):
    """Where a run goes on from."""

    state: RunState
    seconds: float = 0.0
    compile_seconds: float = 0.0


class Session:
    """Writes metrics and checkpoints into a folder as a callback of the loop, and finds the newest checkpoint.

    `settings`, plain data, are what a checkpoint must agree on to be continued, lists of numbers up to rounding.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]):
        # Through JSON, as the saved ones will go, so that tuples compare with lists.
        self.folder, self.settings = folder, json.loads(json.dumps(settings))
        self._next_save = -float("inf")
        make_folder(folder)

    @property
    def metrics(self) -> Path:
        """One line for each log point."""
        return self.folder / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The newest few states."""
        return self.folder / "checkpoints"

    @contextlib.contextmanager
    def going_on(self, fresh: RunState) -> Iterator[Resumed]:
        """Keep the folder to this process, find where to go on from, and save where a run is stopped."""
        with locked(self.folder):
            try:
                yield self.resume(fresh)
            except StoppedError as stop:
                if stop.moment.step > 0:
                    self.save(stop.moment)
                    stop.add_note(f"saved in {self.folder}: the same call goes on from step {stop.moment.step}")
                raise

    def resume(self, fresh: RunState) -> Resumed:
        """The newest checkpoint of this run, or the fresh state where there is none yet."""
        found = load_newest(self.checkpoints, fresh, self._accept)
        state, about = found or (fresh, {"seconds": 0.0, "compile_seconds": 0.0})
        rewind_metrics(self.metrics, int(state.step))
        return Resumed(state, about["seconds"], about["compile_seconds"])

    def __call__(self, moment: Moment) -> None:
        """Log every moment, and save now and then and at the end."""
        if moment.metrics:
            append_metrics(self.metrics, {"step": moment.step, "seconds": round(moment.seconds, 3), **moment.metrics})
        due = time.monotonic() > self._next_save
        if moment.step > 0 and (due or moment.stopped):
            self.save(moment)

    def save(self, moment: Moment) -> None:
        """Write a checkpoint now."""
        about = {
            "settings": self.settings,
            "seconds": moment.seconds,
            "compile_seconds": moment.compile_seconds,
        }
        began = time.monotonic()
        save_checkpoint(self.checkpoints, moment.step, moment.state, about)
        ended = time.monotonic()
        self._next_save = ended + max(SECONDS_BETWEEN_CHECKPOINTS, (ended - began) / SHARE_OF_SAVING)

    def _accept(self, about: dict[str, Any]) -> None:
        saved, wanted = about["settings"], self.settings
        changes = [
            f"{name} was {saved.get(name)} and is {wanted.get(name)}"
            for name in sorted(wanted.keys() | saved.keys())
            if not _alike(saved.get(name), wanted.get(name))
        ]
        if changes:
            raise RunError(f"{self.folder} holds another run ({', '.join(changes)})")


def _alike(first: Any, second: Any) -> bool:
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return np.allclose(first, second, rtol=1e-2, atol=1e-3 * np.abs(second).max(initial=0))
    return first == second

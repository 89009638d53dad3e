"""A run's folder while it trains: metrics, checkpoints, and where to go on from."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eigenax.driver.snapshot import Snapshot
from eigenax.errors import RunError, StoppedError
from eigenax.io.checkpoint import Load, load_newest, save_checkpoint
from eigenax.io.files import locked, make_folder
from eigenax.io.metrics import append_metrics, rewind_metrics
from eigenax.solvers.base import Solver

SECONDS_BETWEEN_CHECKPOINTS = 10.0
SHARE_OF_SAVING = 0.05
"""Of the time, at most, is spent on checkpoints."""

ROUNDING, MEANS = 1e-6, 1e-4
"""How much numbers of one run may differ from machine to machine: those of settings, and means over points."""


class Session:
    """Writes metrics and checkpoints of a solver into a folder, and finds the newest checkpoint.

    `settings`, plain data, are what a checkpoint must agree on to be continued, lists of numbers up to rounding.
    """

    def __init__(self, folder: Path, solver: Solver, settings: dict[str, Any]):
        self.solver = solver
        # Through JSON, as the saved ones will go, so that tuples compare with lists.
        self.folder, self.settings = folder, json.loads(json.dumps(settings))
        self._next_save, self._saved = -float("inf"), 0
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
    def kept(self) -> Iterator[None]:
        """Keep the folder to this process, and save where a run is stopped."""
        with locked(self.folder):
            try:
                yield
            except StoppedError as stop:
                if stop.snapshot.step > 0:
                    self.save(stop.snapshot)
                    stop.add_note(f"saved in {self.folder}: the same call goes on from step {stop.snapshot.step}")
                raise

    def resume(self, restored: Callable[[Any, Load], Any]) -> tuple[Any, dict[str, Any]] | None:
        """The state of the newest checkpoint of this run and what was saved about it, or None where there is none."""
        found = load_newest(self.checkpoints, lambda about, load: restored(about["state"], load), self._accept)
        self._saved = int(found[0].step) if found else 0
        rewind_metrics(self.metrics, self._saved)
        return found

    def write(self, snapshot: Snapshot) -> None:
        """Log every snapshot, and save now and then and at the end."""
        if snapshot.metrics:
            row = {"step": snapshot.step, "seconds": round(snapshot.seconds, 3), **snapshot.metrics}
            append_metrics(self.metrics, row)
        due = time.monotonic() > self._next_save
        if snapshot.step > self._saved and (due or snapshot.stop_reason):
            self.save(snapshot)

    def save(self, snapshot: Snapshot) -> None:
        """Write a checkpoint now."""
        began = time.monotonic()
        arrays, about_state = self.solver.saved(snapshot.state)
        about = {
            "settings": self.settings,
            "seconds": snapshot.seconds,
            "compile_seconds": snapshot.compile_seconds,
            "stop_reason": snapshot.stop_reason.name if snapshot.stop_reason else None,
            "state": about_state,
        }
        save_checkpoint(self.checkpoints, snapshot.step, arrays, about)
        self._saved, ended = snapshot.step, time.monotonic()
        self._next_save = ended + max(SECONDS_BETWEEN_CHECKPOINTS, (ended - began) / SHARE_OF_SAVING)

    def _accept(self, about: dict[str, Any]) -> None:
        saved, wanted = about["settings"], self.settings
        changes = [
            _changed(name, saved.get(name), wanted.get(name))
            for name in sorted(wanted.keys() | saved.keys())
            if not _alike(saved.get(name), wanted.get(name), MEANS if name == "operator" else ROUNDING)
        ]
        if changes:
            # What a user said comes first: operator and source, as a solver sees them, may change with the rest.
            said = [change for change in changes if not change.endswith("another one")]
            raise RunError(f"{self.folder} holds another run ({', '.join(said or changes)})")


def _changed(name: str, saved: Any, wanted: Any) -> str:
    if isinstance(saved, dict | list) or isinstance(wanted, dict | list):
        return f"{name} was another one"
    return f"{name} was {saved} and is {wanted}"


def _alike(first: Any, second: Any, rounding: float) -> bool:
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_alike(first[name], second[name], rounding) for name in first)
    if _are_numbers(first) and _are_numbers(second) and len(first) == len(second):
        first, second = np.asarray(first), np.asarray(second)
        return np.allclose(first, second, rtol=rounding, atol=rounding * np.abs(second).max(initial=0))
    return first == second


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int | float) for value in values)

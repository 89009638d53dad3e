"""The folder of a run in progress: its metrics, its checkpoints, and resuming from them."""

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
"""The least time between two checkpoints."""
MAX_SHARE_OF_SAVING = 0.05
"""The share of the run time that writing checkpoints may take."""
SETTINGS_TOLERANCE = 1e-6
"""The relative difference that lists of numbers in the settings of one run may have from machine to machine."""
OPERATOR_TOLERANCE = 1e-4
"""The same for the numbers that describe the operator, which are means over points."""


class Session:
    """Writes metrics and checkpoints of a solver into a folder, and resumes from the newest checkpoint.

    `settings` are plain data. A run resumes from a checkpoint only if its settings are the same; lists of numbers may
    differ by rounding.
    """

    def __init__(self, folder: Path, solver: Solver, settings: dict[str, Any]):
        self.solver = solver
        # Converted to JSON and back, as saved settings are: tuples become lists, which can be compared.
        self.folder, self.settings = folder, json.loads(json.dumps(settings))
        self._next_save, self._saved = -float("inf"), 0
        make_folder(folder)

    @property
    def metrics(self) -> Path:
        """The file with one line of metrics per log point."""
        return self.folder / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The folder with the newest few checkpoints."""
        return self.folder / "checkpoints"

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the folder for this process, and save a checkpoint when the run is stopped."""
        with locked(self.folder):
            try:
                yield
            except StoppedError as stop:
                if stop.snapshot.step > 0:
                    self.save(stop.snapshot)
                    stop.add_note(f"saved in {self.folder}: the same call goes on from step {stop.snapshot.step}")
                raise

    def resume(self, restored: Callable[[Any, Load], Any]) -> tuple[Any, dict[str, Any]] | None:
        """The state in the newest checkpoint and the plain data saved with it; None if there is no checkpoint.

        `restored(about, load)` makes the solver's state from its plain data and the saved arrays.
        """
        found = load_newest(self.checkpoints, lambda about, load: restored(about["state"], load), self._check_settings)
        self._saved = int(found[0].step) if found else 0
        rewind_metrics(self.metrics, self._saved)
        return found

    def write(self, snapshot: Snapshot) -> None:
        """Log the metrics of a snapshot; write a checkpoint if one is due or the run has ended."""
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
        self._next_save = ended + max(SECONDS_BETWEEN_CHECKPOINTS, (ended - began) / MAX_SHARE_OF_SAVING)

    def _check_settings(self, about: dict[str, Any]) -> None:
        """Raise an error that names the settings in which a checkpoint differs from this run."""
        saved, wanted = about["settings"], self.settings
        changes = [
            _difference(name, saved.get(name), wanted.get(name))
            for name in sorted(wanted.keys() | saved.keys())
            if not _alike(
                saved.get(name), wanted.get(name), OPERATOR_TOLERANCE if name == "operator" else SETTINGS_TOLERANCE
            )
        ]
        if changes:
            # Simple settings are what a user gave. The descriptions of operator and source may only differ because of
            # them, so these are named only if nothing else differs.
            simple = [change for change in changes if not change.endswith("another one")]
            raise RunError(f"{self.folder} holds another run ({', '.join(simple or changes)})")


def _difference(name: str, saved: Any, wanted: Any) -> str:
    if isinstance(saved, dict | list) or isinstance(wanted, dict | list):
        return f"{name} was another one"
    return f"{name} was {saved} and is {wanted}"


def _alike(first: Any, second: Any, tolerance: float) -> bool:
    """Whether two settings are equal, lists of numbers within a tolerance relative to the largest number."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_alike(first[name], second[name], tolerance) for name in first)
    if _are_numbers(first) and _are_numbers(second) and len(first) == len(second):
        first, second = np.asarray(first), np.asarray(second)
        return np.allclose(first, second, rtol=tolerance, atol=tolerance * np.abs(second).max(initial=0))
    return first == second


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int | float) for value in values)

"""Slow features of a user's own videos or series: what `eigenax slow` runs."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from tyro.conf import Positional, arg

from eigenax.errors import RunError
from eigenax.experiments.base import Outcome
from eigenax.experiments.slow_features import SlowFeatures

if TYPE_CHECKING:
    import numpy as np

    from eigenax.datasets.video import Recording
    from eigenax.modes import Modes

FEATURES, FRAMES = "features.npy", "frames"
DRAWS = 4096
"""Clips on which features are ordered and measured, at most."""
HELD = 2**30
"""Bytes of all files that are held in memory, which is faster than reading them again and again, at most."""


@dataclasses.dataclass(frozen=True)
class UserVideo(SlowFeatures):
    """Slow features of your own video: what changes slowly in it.

    FILES are videos, .npy or .npz arrays (time, height, width), (time, height, width, colours) or (time, d), or folders
    of images; several are several episodes. With --model the features of an earlier run are taken, and nothing is
    trained: `eigenax slow --model DIR NEW.mp4`.
    """

    name: ClassVar[str] = "slow"
    summary: ClassVar[str] = "slow features of your own video"
    command: ClassVar[tuple[str, ...]] = ("slow",)
    positional: ClassVar[tuple[str, ...]] = ("files",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "quick": {},
        "best": {"clips": 96, "channels": "32,64,64", "width": 256, "steps": 20_000, "learning_rate": 1e-3},
    }

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FILES")] = ()
    """Videos, arrays or folders of images."""
    model: str = ""
    """Folder of an earlier run, whose features are wanted of these files."""
    steps: int = 2000
    """Training steps."""
    clips: int = 24
    """Clips in a batch."""
    channels: str = "16,32,32"
    """Feature maps of each convolution, with commas between them."""
    width: int = 128
    """Units of the layer after them."""
    learning_rate: float = 3e-3
    """Learning rate at the first step."""
    size: int = 64
    """The longer side of frames; larger ones are scaled down."""
    held_out: float = 0.2
    """Share of each file, at its end, on which slowness is measured and nothing is trained."""

    def resolved(self) -> Self:
        """With whole paths."""
        model = str(Path(self.model).resolve()) if self.model else ""
        return dataclasses.replace(self, files=tuple(str(Path(file).resolve()) for file in self.files), model=model)

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("size")
        if not self.files:
            raise ValueError("FILES are needed: a video, a .npy or .npz array, or a folder of images")
        if not 0 <= self.held_out < 1:
            raise ValueError(f"--held-out must be at least 0 and below 1; got {self.held_out:g}")

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Train on the beginning of each file, or take a model, and write the features of all of it."""
        recordings = self.recordings(folder, progress)
        return (
            self._applied(recordings, folder, progress) if self.model else self._trained(recordings, folder, progress)
        )

    def recordings(self, folder: Path, progress: bool) -> "list[Recording]":
        """All files, opened, of one shape, and changing."""
        from eigenax.datasets.video import read_recording

        found = []
        for number, file in enumerate(self.files):
            recording = read_recording(Path(file), folder / FRAMES / str(number), self.frame_size, progress)
            if recording.changes and progress:
                print(f"{Path(file).name}: {recording.changes}", file=sys.stderr)
            check_rows(recording.rows, file)
            found.append(recording)
        shapes = {recording.rows.shape[1:] for recording in found}
        if len(shapes) > 1:
            raise RunError(f"all files must have frames of one size; they have {', '.join(map(str, sorted(shapes)))}")
        return found

    @property
    def frame_size(self) -> int:
        """The longer side of frames: that of the model, if there is one."""
        from eigenax.experiments.folder import read_experiment

        if not self.model:
            return self.size
        trained = read_experiment(Path(self.model))
        if not isinstance(trained, UserVideo):
            raise RunError(f"{self.model} holds a run of {trained.name}, not of `eigenax slow`")
        return trained.frame_size

    def _trained(self, recordings: "list[Recording]", folder: Path, progress: bool) -> Outcome:
        from eigenax.evaluation.slowness import delta_values
        from eigenax.galerkin.series import slow_waves
        from eigenax.training.metrics import read_metrics

        series = [recording.rows for recording in recordings]
        frames = frames_of(series[0])
        ends = [len(rows) - int(self.held_out * len(rows)) for rows in series]
        for file, rows, end in zip(self.files, series, ends, strict=True):
            if end < self.length + frames - 1:
                raise RunError(
                    f"{file} has {len(rows)} frames, {end} of them to learn from, and a clip takes "
                    f"{self.length + frames - 1}: give a longer one, or a smaller --length or --held-out"
                )
        seen = [rows[:end] for rows, end in zip(series, ends, strict=True)]
        result: dict[str, Any] = {}
        if frames == 1:
            modes = slow_waves(seen, self.n, self.seed, progress)
            result |= {"steps": 0, "stopped": modes.stopped}
        else:
            modes = self._learned(seen, folder, progress)
            result["training_seconds"] = read_metrics(folder / "metrics.jsonl")[-1]["seconds"]
        features = self._written(modes, series, folder, progress)
        held_out = [one[end + frames - 1 :] for one, end in zip(features, ends, strict=True)]
        if any(len(one) > 1 for one in held_out):
            result["columns"] = {"held out": delta_values([one for one in held_out if len(one)])}
        return self._outcome(modes, recordings, features, result, ends)

    def _learned(self, seen: "list[np.ndarray]", folder: Path, progress: bool) -> "Modes":
        """Train a convolution on pairs of frames."""
        import numpy as np

        from eigenax.sources.clips import Clips

        pixels = np.concatenate([rows[:: max(1, len(rows) // 256)] for rows in seen]).astype(np.float64)
        network = self.network((2, *seen[0].shape[1:]), float(pixels.mean()), float(pixels.std()) or 1.0)
        small = sum(rows.nbytes for rows in seen) < HELD
        source = Clips([np.array(rows) if small else rows for rows in seen], self.length, frames=2)
        return self.train(source, network, min(DRAWS, sum(map(len, seen))), folder, progress)

    def _applied(self, recordings: "list[Recording]", folder: Path, progress: bool) -> Outcome:
        from eigenax.evaluation.slowness import delta_values
        from eigenax.modes import load

        modes, rows = load(self.model), recordings[0].rows
        frames = frames_of(rows)
        shape = (frames, *rows.shape[1:]) if frames == 2 else rows.shape[1:]
        if shape != modes.shape:
            raise RunError(f"{self.files[0]} has frames of {rows.shape[1:]}, but the model takes {modes.shape[-2:]}")
        features = self._written(modes, [recording.rows for recording in recordings], folder, progress)
        result = {"steps": 0, "columns": {"these files": delta_values([one[frames - 1 :] for one in features])}}
        return self._outcome(modes, recordings, features, result, [len(one) for one in features])

    def _written(self, modes: "Modes", series: "list[np.ndarray]", folder: Path, progress: bool) -> "list[np.ndarray]":
        """The features of every file, also as one array in the folder."""
        import io

        import numpy as np

        from eigenax.evaluation.features import features_of
        from eigenax.training.files import write_atomically

        frames = frames_of(series[0])
        features = [features_of(modes, rows, frames=frames, progress=progress) for rows in series]
        content = io.BytesIO()
        np.save(content, np.concatenate(features))
        write_atomically(folder / FEATURES, content.getvalue())
        return features

    def _outcome(
        self,
        modes: "Modes",
        recordings: "list[Recording]",
        features: "list[np.ndarray]",
        result: dict[str, Any],
        ends: list[int],
    ) -> Outcome:
        from eigenax.report.user_video import draw_extremes, draw_over_time

        figures = {"over-time": draw_over_time(features, ends)}
        if recordings[0].rows.ndim == 3:
            figures["extremes"] = draw_extremes([recording.rows for recording in recordings], features)
        about = {
            "files": list(self.files),
            "rows": [len(one) for one in features],
            "changes": [recording.changes for recording in recordings],
        }
        return Outcome(modes, result | about, figures)


def frames_of(rows: "np.ndarray") -> int:
    """How many successive rows make a point: two images, or one row of numbers."""
    return 2 if rows.ndim == 3 else 1


def check_rows(rows: "np.ndarray", file: str) -> None:
    """Refuse what is no number, and what does not change."""
    import numpy as np

    changes, pieces = False, max(1, 2**22 // max(1, int(np.prod(rows.shape[1:]))))
    for start in range(0, len(rows), pieces):
        piece = np.asarray(rows[start : start + pieces])
        if np.issubdtype(piece.dtype, np.floating) and not np.isfinite(piece).all():
            row = start + int(np.argmin(np.isfinite(piece).reshape(len(piece), -1).all(1)))
            raise RunError(f"{file} contains NaN or infinity in frame {row}, counted from 0; fill or cut it out")
        changes = changes or bool((piece != rows[0]).any())
    if not changes:
        raise RunError(
            f"{file} never changes: all of its {len(rows)} frames are equal, and nothing in it is slow or fast"
        )

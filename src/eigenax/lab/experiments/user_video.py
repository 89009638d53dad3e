"""Slow features of a user's own videos or series: what `eigenax slow` runs."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from tyro.conf import Positional, arg

from eigenax.errors import InputError, SingularMomentsError
from eigenax.lab.experiment import Outcome, Preset, flag
from eigenax.lab.experiments.slow_features import SlowFeatures
from eigenax.lab.experiments.training import SpINSettings
from eigenax.lab.experiments.user_files import beginnings, clips_of, n_stack_of, read_recordings, save_features
from eigenax.lab.experiments.user_video_notes import clock_warning, kept_step_note, overfitting_warning, still_warning

if TYPE_CHECKING:
    import numpy as np

    from eigenax.lab.datasets.video import Recording
    from eigenax.modes import Modes
    from eigenax.sources.time_series import TimeSeries

FEATURES = "features.npy"
"""The features of all files, in the folder of the run."""
FRAMES = "frames"
"""Frames as they are learned from, small and grey, in the folder of the run."""
DRAWS = 4096
"""Largest number of clips on which features are ordered and measured."""


@dataclasses.dataclass(frozen=True)
class UserVideo(SlowFeatures):
    """Slow features of your own video: what changes slowly in it.

    FILES are videos, .npy or .npz arrays (time, height, width), (time, height, width, colours) or (time, d), or folders
    of images; each file is an episode. With --model the features of an earlier run are computed for new files, and
    nothing is trained: `eigenax slow --model DIR NEW.mp4`.
    """

    name: ClassVar[str] = "slow"
    summary: ClassVar[str] = "slow features of your own video"
    command: ClassVar[tuple[str, ...]] = ("slow",)
    positional: ClassVar[tuple[str, ...]] = ("files",)
    reading: ClassVar[str] = (
        "Slowness Δ of a feature is E[(y(t+1) − y(t))²] / Var[y]: 0 never changes, 2 is noise. The column “learned”, "
        "with its standard error, is measured on data that the features were not found on: the frames that judged the "
        "training, or other blocks of time. “Training” is measured on the data that they were found on; where there is "
        "no such column, so is “learned”. “Held out” is measured on the end of each file, which had no part in any of "
        "this. PCA, linear and quadratic SFA learn from the same beginning and are measured on the same end. “These "
        "files” are those that a model was applied to."
    )
    presets: ClassVar[dict[str, Preset]] = {
        "quick": Preset("a small network, for two cores"),
        "best": Preset(
            "a larger network, trained longer, for a GPU",
            {"clips": 96, "channels": "32,64,64", "width": 256, "steps": 20_000, "training": SpINSettings()},
        ),
    }
    determine_defaults: ClassVar[tuple[str, ...]] = ("preset", "model")

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FILES")] = ()
    """Videos, arrays or folders of images."""
    model: str = ""
    """Folder of an earlier run, or one of the models in it, whose features are computed for these files, with the
    settings of that run."""
    steps: int = 2000
    """Training steps."""
    clips: int = 24
    """Clips in a batch."""
    channels: str = "16,32,32"
    """Feature maps of each convolution, with commas between them."""
    width: int = 128
    """Units of the layer after them."""
    training: SpINSettings = SpINSettings(learning_rate=3e-3)
    """How SpIN trains."""
    size: int = 64
    """The longer side of frames; larger ones are scaled down."""
    held_out: float = 0.2
    """Share of each file, at its end, that is held out: slowness is measured there, and nothing is trained."""

    @classmethod
    def with_preset(cls, preset: str = "", model: str = "") -> Any:
        """The settings of a preset, or those of a model, which cannot be changed."""
        return dataclasses.replace(cls._of_model(Path(model)), files=()) if model else super().with_preset(preset)

    def resolved(self) -> Self:
        """The same settings with absolute paths; where a model is given, settings other than its own are refused."""
        has = self._of_model(Path(self.model)).flat() if self.model else {}
        for name, wanted in self.flat().items():
            if name not in {"files", "model"} and wanted != has.get(name, wanted):
                raise ValueError(
                    f"--{flag(name)} does not go with --model, which has its own, {has[name]}; train one for {wanted}"
                )
        files = tuple(str(Path(file).resolve()) for file in self.files)
        return dataclasses.replace(self, files=files, model=self.model and str(Path(self.model).resolve()))

    @classmethod
    def _of_model(cls, model: Path) -> "UserVideo":
        """The settings of the run in a folder, or of one of the models in it."""
        from eigenax.lab.experiments.folder import read_experiment
        from eigenax.modes_file import FILE

        folder, file = (model.parent, model.name) if model.is_file() else (model, FILE)
        trained = read_experiment(folder)
        if not isinstance(trained, cls):
            raise InputError(f"{folder} holds a run of {trained.name}, not of `eigenax slow`")
        if not (folder / file).exists():
            raise InputError(f"the run in {folder} is unfinished; `eigenax resume {folder}` first")
        return trained

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
        recordings = read_recordings(self.files, folder / FRAMES, self.size, progress)
        return (self._applied if self.model else self._trained)(recordings, folder, progress)

    def _trained(self, recordings: "list[Recording]", folder: Path, progress: bool) -> Outcome:
        from eigenax.io.metrics import read_metrics
        from eigenax.lab.baselines.classical_features import Video, classical_features
        from eigenax.lab.report.slow_features import draw_slowness, draw_training
        from eigenax.lab.scores.slowness import delta_values

        series = [recording.rows for recording in recordings]
        n_stack = n_stack_of(series[0])
        ends = beginnings(self.files, series, self.held_out, self.length)
        seen = [rows[:end] for rows, end in zip(series, ends, strict=True)]
        source, figures = clips_of(self.files, seen, self.length), {}
        result: dict[str, Any] = {}
        notes: list[str] = []
        if n_stack == 1:
            self._check_no_training_asked()
            modes = self._untrained(source, folder, progress)
        else:
            modes = self._learned(source, seen, folder, progress)
            metrics = read_metrics(folder / "metrics.jsonl")
            result["training_seconds"], notes = metrics[-1]["seconds"], kept_step_note(metrics)
            figures["training"] = draw_training(metrics, self.n)
        result |= {"steps": modes.steps if n_stack == 2 else 0, "stopped": modes.stop_reason}
        features = save_features(modes, series, folder / FEATURES, progress)
        if len(series) == 1:
            notes += clock_warning(features[0][n_stack - 1 : ends[0]])
        held_out = [one[end + n_stack - 1 :] for one, end in zip(features, ends, strict=True)]
        if any(len(one) > 1 for one in held_out):
            slowness = delta_values([one for one in held_out if len(one)])
            other = [rows[end:] for rows, end in zip(series, ends, strict=True) if len(rows) - end >= n_stack]
            methods = classical_features(Video.of(seen, n_stack), Video.of(other, n_stack), self.n, progress)
            others = {name: method.slowness for name, method in methods.items()}
            figures["slowness"] = draw_slowness({"learned": slowness, **others})
            trained = modes.eigenvalues if modes.training_eigenvalues is None else modes.training_eigenvalues
            notes += overfitting_warning(held_out, trained, n_stack)
            offer = self.offer_slower(slowness, methods, lambda _: source, folder)
            if offer is not None:
                save_features(offer.modes, series, offer.file.with_suffix(".npy"), progress)
                notes.append(
                    f"{offer.note}; its features of these files are in {offer.file.with_suffix('.npy')}, and "
                    f"`eigenax slow --model {offer.file} FILES` takes them of others"
                )
            result["columns"] = {"held out": slowness, **others}
        if modes.training_eigenvalues is not None:
            result["columns"] = {"training": modes.training_eigenvalues, **result.get("columns", {})}
        outcome = self._outcome(modes, recordings, features, result | {"notes": notes}, ends)
        return outcome._replace(figures=outcome.figures | figures)

    def _check_no_training_asked(self) -> None:
        """Refuse settings of the training where there is none, since the files hold rows of numbers."""
        usual, has_use = self.with_preset(self.preset).flat(), {"n", "seed", "preset", "length", "training"}
        names = {field.name for cls in (SlowFeatures, SpINSettings) for field in dataclasses.fields(cls)}
        training = names - has_use | {"size"}
        asked = [f"--{flag(name)}" for name in sorted(training) if self.flat()[name] != usual[name]]
        if asked:
            raise InputError(
                f"{', '.join(self.files)}: rows of numbers need no training, which {', '.join(asked)} would be for; "
                "leave that out"
            )

    def _untrained(self, source: "TimeSeries", folder: Path, progress: bool) -> "Modes":
        """The slowest combinations of random waves of the rows, without the constant function."""
        import eigenax

        try:
            modes = eigenax.solve(
                eigenax.Slowness(), source, self.n + 1, seed=self.seed, checkpoint_dir=folder, progress=progress
            )
        except SingularMomentsError as error:
            raise InputError(f"--n {self.n} is too many: {error}") from error
        except ValueError as error:  # nothing changes in the part to learn from
            raise InputError(f"{', '.join(self.files)}: {error}; a smaller --held-out leaves more") from error
        return modes[1:]

    def _learned(self, source: "TimeSeries", seen: "list[np.ndarray]", folder: Path, progress: bool) -> "Modes":
        """Train a convolution on pairs of frames."""
        import numpy as np

        from eigenax.samples import BATCHES

        try:
            self.check_batch()
        except ValueError as error:  # rows of numbers have no batches
            raise InputError(str(error)) from error
        pixels = np.concatenate([rows[:: max(1, len(rows) // 256)] for rows in seen])
        network = self.network((2, *seen[0].shape[1:]), pixels)
        return self.train(source, network, max(BATCHES, min(DRAWS, sum(map(len, seen)))), folder, progress)

    def _applied(self, recordings: "list[Recording]", folder: Path, progress: bool) -> Outcome:
        from eigenax.lab.scores.slowness import delta_values
        from eigenax.modes import load

        modes, rows = load(self.model), recordings[0].rows
        n_stack = n_stack_of(rows)
        shape = (n_stack, *rows.shape[1:]) if n_stack == 2 else rows.shape[1:]
        if shape != modes.shape:
            raise InputError(f"{self.files[0]} has frames of {rows.shape[1:]}, but the model takes {modes.shape[-2:]}")
        features = save_features(modes, [recording.rows for recording in recordings], folder / FEATURES, progress)
        here = [one[n_stack - 1 :] for one in features]
        result = {"steps": 0, "columns": {"these files": delta_values(here)}, "notes": still_warning(here)}
        return self._outcome(modes, recordings, features, result, [len(one) for one in features])

    def _outcome(
        self,
        modes: "Modes",
        recordings: "list[Recording]",
        features: "list[np.ndarray]",
        result: dict[str, Any],
        ends: list[int],
    ) -> Outcome:
        from eigenax.lab.report.user_video import draw_extremes, draw_over_time

        figures = {"over-time": draw_over_time(features, ends, [Path(file).name for file in self.files])}
        if recordings[0].rows.ndim == 3:
            figures["extremes"] = draw_extremes([recording.rows for recording in recordings], features)
        about = {
            "files": list(self.files),
            "rows": [len(one) for one in features],
            "changes": [recording.changes for recording in recordings],
        }
        return Outcome(modes, result | about, figures)

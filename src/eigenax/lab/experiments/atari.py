"""Slow features of Atari games beside successor features and principal components: the paper's third experiment."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from eigenax.errors import InputError, RunError
from eigenax.lab.experiment import Outcome, Preset
from eigenax.lab.experiments.slow_features import SlowFeatures
from eigenax.lab.experiments.successors import SuccessorSettings
from eigenax.lab.experiments.training import PUBLISHED

if TYPE_CHECKING:
    import numpy as np

    from eigenax.lab.datasets.gameplay import Gameplay
    from eigenax.modes import Modes

IN_MEMORY = 2**33
"""Bytes of frames up to which they are held in memory, which is faster than reading them repeatedly."""
COLUMNS = {"held out": "spin", "successor": "successor", "PCA": "pca"}
"""The methods that find features, by the heading of their slowness in the table."""
LEAST_FRAMES = 1000
"""Smallest number of frames to learn from, and to measure on."""
DRAWS = 64
"""Number of batches on which features are ordered."""


@dataclasses.dataclass(frozen=True)
class Atari(SlowFeatures):
    """Slow features of a random agent's view of an Atari game, beside successor features and principal components."""

    name: ClassVar[str] = "atari"
    summary: ClassVar[str] = "slow features of an Atari game, beside successor features and principal components"
    kernel: ClassVar[int] = 6
    presets: ClassVar[dict[str, Preset]] = {
        "best": Preset("our own settings, for a GPU"),
        "quick": Preset(
            "the same with less of everything: six minutes on two cores",
            {
                "frames": 20_000,
                "held_out": 6000,
                "steps": 700,
                "clips": 12,
                "channels": "16,16,16",
                "successors": SuccessorSettings(
                    successor_steps=500, successor_maps=16, successor_width=128, latent=256, target_every=20
                ),
            },
        ),
        "paper": Preset(
            "the published settings, for a GPU",
            {
                "steps": 1_000_000,
                "clips": 24,
                "activation": "relu",
                "sparsity": "paper",
                "training": PUBLISHED,
                "schedule": "constant",
                "spare": 0,
                "coarse": 1,
            },
        ),
    }

    game: str = "beam_rider"
    """The game, by its name in ale-py, such as space_invaders, montezuma_revenge or ms_pacman."""
    data: str = ""
    """Folder of the gameplay, which several runs may share; by default it is inside the folder of the run."""
    n: int = 5
    """Number of features; the constant one is not counted."""
    spare: int = 5
    """Functions learned beyond the features and then left out, so that the features are the slowest of more."""
    coarse: int = 2
    """Side of the squares of pixels that slow features see as one pixel, which hides small things; 1: all pixels."""
    steps: int = 400
    """Training steps of the slow features; with more, features become slower and encode rarer events."""
    clips: int = 48
    """Clips in a batch."""
    frames: int = 500_000
    """Frames to learn from, of a random agent."""
    held_out: int = 64_000
    """Frames of other games, on which all features are measured."""
    channels: str = "64,64,64"
    """Feature maps of each convolution, with commas between them."""
    width: int = 128
    """Units of the layer after them."""
    successors: SuccessorSettings = SuccessorSettings()
    """How successor features are learned."""

    def resolved(self) -> Self:
        """The same settings with the absolute path of the gameplay; a game that is not installed is refused."""
        from eigenax.lab.datasets.atari import check_game

        check_game(self.game)
        data = Path(self.data).resolve()
        if any(part.is_file() for part in (data, *data.parents)):
            raise InputError(f"--data must be a folder; {self.data} is a file")
        return dataclasses.replace(self, data=str(data) if self.data else "")

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_batch()
        self.successors.check()
        self.check_at_least_one("coarse")
        self.check_at_least(0, "spare")
        self.check_at_least(LEAST_FRAMES, "frames", "held_out")
        self._check_length()
        self._check_coarse()
        if self.successors.latent < self.n:
            raise ValueError(f"--latent must be at least --n, {self.n}; got {self.successors.latent}")

    def _check_length(self) -> None:
        """Refuse a length that no episode can have, however the game goes: each stream begins with a fresh game."""
        from eigenax.lab.baselines.agent_steps import STACK
        from eigenax.lab.datasets.atari import STREAM

        most = min(self.frames, STREAM) - STACK + 1
        if self.length > most:
            raise ValueError(
                f"--length must be at most {most}: a point is {STACK} frames, and no episode is longer than "
                f"{min(self.frames, STREAM)} frames; got {self.length}"
            )

    def _check_coarse(self) -> None:
        """Refuse squares of pixels so large that the last convolution sees fewer of them than its stride needs."""
        from eigenax.lab.datasets.gameplay import SIDE
        from eigenax.networks.convolution import side_after

        def fits(coarse: int) -> bool:
            return side_after(SIDE // coarse, self.stride, len(self.maps) - 1) >= self.stride

        most = max(filter(fits, range(1, SIDE + 1)), default=1)
        if self.coarse > most:
            raise ValueError(
                f"--coarse must be at most {most}, which leaves {SIDE // most} of the {SIDE} pixels of a frame's side "
                f"to {len(self.maps)} convolutions of stride {self.stride}; got {self.coarse}"
            )

    @property
    def functions(self) -> int:
        """Functions that are learned, of which the slowest are the features."""
        return self.n + self.spare

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Collect gameplay, train both networks, and measure the features of all three methods on other games."""
        from eigenax.lab.baselines.agent_steps import STACK
        from eigenax.lab.datasets.gameplay import SIDE

        # Playing takes long: what can be refused is refused before.
        self.network((STACK, SIDE, SIDE), coarse=self.coarse)
        self.successors.check_network(SIDE)
        place = Path(self.data) if self.data else folder / "gameplay"
        seen = self.played(place, self.frames, self.seed, progress)
        with self._keeping(place):
            self._long_episodes(seen)
        other = self.played(place, self.held_out, self.held_out_seed, progress)
        with self._keeping(place):
            return self._measured(seen, other, folder, progress)

    @contextlib.contextmanager
    def _keeping(self, place: Path) -> Iterator[None]:
        """Keep the gameplay where settings turn out not to fit it: only wrong input empties the folder of a run."""
        try:
            yield
        except InputError as error:
            if self.data:
                raise
            raise RunError(f"{error}; a new run takes what was played with --data {place}") from error

    def _measured(self, seen: "Gameplay", other: "Gameplay", folder: Path, progress: bool) -> Outcome:
        """Train both networks, and measure the features of all three methods on other games."""
        from eigenax.io.metrics import read_metrics
        from eigenax.lab.baselines.agent_steps import STACK, with_whole_stacks
        from eigenax.lab.baselines.principal_components import components_of
        from eigenax.lab.baselines.successor import eigenpurposes
        from eigenax.lab.report.atari import NAMES, draw_extremes, draw_losses
        from eigenax.lab.report.slow_features import draw_slowness, draw_training
        from eigenax.lab.scores.gameplay import all_scores
        from eigenax.over_time import features_of

        shown, episodes = with_whole_stacks(other.starts)
        modes = self.learned(seen, folder, progress)
        found = {"spin": features_of(modes, other.frames, n_stack=STACK, progress=progress)[shown]}
        successors = self.successors.learned(seen, other.frames, self.seed, folder / "successor", progress)[shown]
        for name, centred in (("successor", True), ("successor_from_zero", False)):  # the latter as first published
            found[name] = eigenpurposes(successors, self.n, centred)
        frames, memory = other.frames[shown], other.ram[shown]
        found["pca"] = components_of(frames, seen.frames, self.n)
        scores = all_scores(found, frames, memory, episodes, self.seed)
        metrics, losses = (read_metrics(path / "metrics.jsonl") for path in (folder, folder / "successor"))
        methods = tuple(COLUMNS.values())
        result = {
            "game": self.game,
            "iterations": {"spin": self.steps, "successor": self.successors.successor_steps, "pca": 0},
            "target_renewals": self.successors.successor_steps // self.successors.target_every,
            "columns": {called: scores["slowness"][name] for called, name in COLUMNS.items()},
            **{score: {name: values[name] for name in methods} for score, values in scores.items()},
            "successor_from_zero": {score: values["successor_from_zero"] for score, values in scores.items()},
            "training_seconds": metrics[-1]["seconds"],
            "successor_seconds": losses[-1]["seconds"],
            "successor_losses": {name: losses[-1][name] for name in ("prediction", "successor")},
        }
        figures = {
            "extremes": draw_extremes(frames, {name: found[name] for name in methods}, result),
            "slowness": draw_slowness({NAMES[name]: values for name, values in result["slowness"].items()}),
            "training": draw_training(metrics, self.n),
            "successor-losses": draw_losses(losses),
        }
        return Outcome(modes, result, figures)

    def played(self, place: Path, steps: int, seed: int, progress: bool) -> "Gameplay":
        """Steps of the game, read from the folder of all gameplay, or first collected into it."""
        import numpy as np

        from eigenax.lab.datasets.atari import Gameplay, gameplay

        part = gameplay(self.game, steps, place / f"{self.game}-{steps}-seed{seed}", seed=seed, progress=progress)
        frames = np.array(part.frames) if part.frames.nbytes < IN_MEMORY else part.frames
        return Gameplay(frames, *(np.array(one) for one in part[1:]))

    def learned(self, seen: "Gameplay", folder: Path, progress: bool) -> "Modes":
        """Learn the slow features of gameplay."""
        from eigenax.lab.baselines.agent_steps import STACK
        from eigenax.sources.time_series import TimeSeries

        some = seen.frames[:: max(1, len(seen.frames) // 1000)]
        network = self.network((STACK, *some.shape[1:]), some, self.coarse)
        source = TimeSeries(self._long_episodes(seen), self.length, n_stack=STACK)
        return self.train(source, network, DRAWS * self.clips, folder, progress)

    def _long_episodes(self, seen: "Gameplay") -> "list[np.ndarray]":
        """The frames of each episode that is long enough for a clip."""
        from eigenax.lab.baselines.agent_steps import STACK

        least = self.length + STACK - 1
        episodes = [episode.frames for episode in seen.episodes(least)]
        if not episodes:
            longest = max(len(episode.frames) for episode in seen.episodes())
            raise InputError(
                f"--length {self.length} takes episodes of {least} frames; the longest there is has {longest}: "
                f"--length {longest - STACK + 1} at most"
            )
        return episodes

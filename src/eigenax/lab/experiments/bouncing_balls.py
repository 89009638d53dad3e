"""Deep slow feature analysis of bouncing balls: the paper's second experiment, beside the classical methods."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from eigenax.errors import InputError
from eigenax.lab.experiment import Outcome, Preset, flag
from eigenax.lab.experiments.slow_features import SlowFeatures
from eigenax.lab.experiments.training import PUBLISHED

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from eigenax.lab.baselines.classical_features import Classical, Video
    from eigenax.lab.datasets.bouncing_balls import Balls, Discs
    from eigenax.lab.scores.balls import Meaning
    from eigenax.modes import Modes

LEAST_FRAMES = 1000
"""Smallest number of frames: in fewer, balls are not seen in enough places."""

DRAWS = 256
"""Number of batches on which features are ordered: features that are nearly equally slow need many."""

TWO = ", two frames"
"""Added to the name of a classical method that sees two successive frames."""

LOOKED_AT = 200_000
"""Largest number of frames on which is measured what features tell about the balls."""


@dataclasses.dataclass(frozen=True)
class BouncingBalls(SlowFeatures):
    """Slow features of a video of three bouncing balls, from two successive frames."""

    name: ClassVar[str] = "bouncing-balls"
    summary: ClassVar[str] = "deep slow feature analysis of three bouncing balls, beside linear and quadratic"
    presets: ClassVar[dict[str, Preset]] = {
        "best": Preset("our own settings, for a GPU"),
        "quick": Preset(
            "the same for two cores, on smaller frames",
            {
                "steps": 1800,
                "clips": 24,
                "channels": "16,16,16",
                "width": 128,
                "frames": 100_000,
                "held_out": 100_000,
                "size": 32,
                "radius": 3.0,
                "speed": 1.0,
            },
        ),
        "paper": Preset(
            "the published settings, for a GPU",
            {
                "steps": 1_000_000,
                "frames": 200_000,
                "held_out": 200_000,
                "clips": 24,
                "channels": "32,32,32",
                "width": 128,
                "activation": "relu",
                "sparsity": "paper",
                "training": PUBLISHED,
                "schedule": "constant",
            },
        ),
    }

    steps: int = 12_000
    """Training steps."""
    frames: int = 2_000_000
    """Frames of the video to learn from."""
    held_out: int = 1_000_000
    """Frames of another video, on which all features are measured."""
    balls: int = 3
    """Number of balls."""
    size: int = 64
    """Side of the frames in pixels."""
    radius: float = 6.0
    """Radius of the balls in pixels."""
    speed: float = 2.0
    """Pixels that each ball moves from one frame to the next at the beginning."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_batch()
        self.check_at_least_one("balls", "size")
        self.check_positive("radius", "speed")
        for name in ("frames", "held_out"):
            self.check_at_least(LEAST_FRAMES, name)
            if getattr(self, name) <= self.length:
                raise ValueError(f"--{flag(name)} must be more than --length, {self.length}; got {getattr(self, name)}")
        if self.radius * 2 >= self.size:
            raise ValueError(f"--radius must be below half of --size, {self.size}; got {self.radius:g}")

    @functools.cached_property
    def video(self) -> "Balls":
        """The video to learn from."""
        return self._simulated(self.frames, self.seed)

    @functools.cached_property
    def held_out_video(self) -> "Balls":
        """The held-out video, on which features are measured."""
        return self._simulated(self.held_out, self.held_out_seed)

    @property
    def reach(self) -> tuple[float, float]:
        """The smallest and the largest coordinate that the centre of a ball can have."""
        return self.radius, self.size - self.radius

    @property
    def view(self) -> "Discs":
        """The function that draws a frame from the positions of the balls."""
        from eigenax.lab.datasets.bouncing_balls import Discs

        return Discs(self.size, self.radius)

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Train, and measure on the held-out video the features that this and classical slow feature analysis found."""
        import numpy as np

        from eigenax.io.metrics import read_metrics
        from eigenax.lab.scores.balls import meaning
        from eigenax.lab.scores.slowness import delta_values
        from eigenax.over_time import features_of
        from eigenax.sources.time_series import TimeSeries

        def source(frames: int) -> TimeSeries:
            return TimeSeries(self.video.positions.astype(np.float32), self.length, n_stack=frames, view=self.view)

        network = self.network((2, self.size, self.size))
        modes = self.train(source(2), network, DRAWS * self.clips, folder, progress)
        held_out = self.held_out_video.positions.astype(np.float32)
        features = features_of(modes, held_out, n_stack=2, view=self.view, progress=progress)[1:]
        slowness = delta_values([features])
        methods = self.classical(progress)
        others = {name: method.slowness for name, method in methods.items()}
        offer = self.offer_slower(slowness, methods, lambda name: source(2 if name.endswith(TWO) else 1), folder)
        positions, velocities = (part[1 : LOOKED_AT + 1] for part in self.held_out_video)
        told = meaning(features[:LOOKED_AT], positions, velocities, self.reach)
        metrics = read_metrics(folder / "metrics.jsonl")
        result = {
            "training_seconds": metrics[-1]["seconds"],
            "columns": {"held out": slowness, "linear SFA": others["linear SFA"]},
            "slowness": {"learned": slowness, **others},
            "sum_over_linear": float(slowness.sum() / others["linear SFA"].sum()),
            "correlation": float(np.abs(np.corrcoef(features.T) - np.eye(self.n)).max()),
            "meaning": told._asdict(),
            "notes": [offer.note] if offer else [],
        }
        return Outcome(modes, result, self._figures(modes, features, told, result["slowness"], metrics))

    def classical(self, progress: bool) -> "dict[str, Classical]":
        """Classical features of single frames and of pairs, with their slowness on the held-out video."""
        from eigenax.lab.baselines.classical_features import classical_features

        found = {}
        for frames, called in ((1, ""), (2, TWO)):
            seen, other = (self._pixels(video, frames) for video in (self.video, self.held_out_video))
            for name, method in classical_features(seen, other, self.n, progress).items():
                found[name + called] = method
        return found

    def _pixels(self, video: "Balls", frames: int) -> "Video":
        """A video whose points are the pixels of this many successive frames, drawn only when they are needed."""
        import jax.numpy as jnp
        import numpy as np

        from eigenax.lab.baselines.classical_features import Video
        from eigenax.lab.datasets.bouncing_balls import drawn

        positions, count = jnp.asarray(video.positions, jnp.float32), len(video.positions) - frames + 1
        return Video(
            lambda numbers: drawn(self.view, positions[numbers[:, None] + np.arange(frames)]), np.arange(count) == 0
        )

    def _simulated(self, frames: int, seed: int) -> "Balls":
        from eigenax.lab.datasets.bouncing_balls import bouncing_balls

        try:
            return bouncing_balls(
                frames, balls=self.balls, size=self.size, radius=self.radius, speed=self.speed, seed=seed
            )
        except ValueError as error:  # no room for so many
            raise InputError(str(error)) from error

    def _figures(
        self,
        modes: "Modes",
        features: "np.ndarray",
        told: "Meaning",
        slowness: "dict[str, np.ndarray]",
        metrics: list[dict[str, Any]],
    ) -> "dict[str, tuple[Figure, str]]":
        """Heat maps, extreme frames of the joint feature, slowness beside the classical methods, training curves."""
        import jax
        import jax.numpy as jnp
        import numpy as np

        from eigenax.lab.report.slow_features import draw_heat_maps, draw_overlays, draw_slowness, draw_training
        from eigenax.lab.scores.balls import heat_maps
        from eigenax.lab.scores.slowness import extreme_times

        positions = self.held_out_video.positions
        extreme = extreme_times(features[:, told.joint], 6, apart=int(4 * self.size / self.speed))
        pairs = [np.asarray(jax.vmap(self.view)(jnp.asarray(positions[t : t + 2], jnp.float32)))[:, 0] for t in extreme]
        return {
            "heat-maps": draw_heat_maps(heat_maps(features, positions[1:], self.reach), slowness["learned"], told),
            "joint-feature": draw_overlays(pairs, features[extreme, told.joint], told),
            "slowness": draw_slowness(slowness),
            "training": draw_training(metrics, self.n),
        }

"""What every experiment has: settings with presets, and a run that leaves a folder.

Nothing here imports JAX, so that the command line can show help at once.
"""

import abc
import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from eigenax.modes import Modes


class Outcome(NamedTuple):
    """What a run found, before it is written down."""

    modes: "Modes"
    result: dict[str, Any]
    """The experiment's own entries of result.json."""
    figures: "dict[str, tuple[Figure, str]]"
    """Pictures by file name, each with a caption for the page."""


@dataclasses.dataclass(frozen=True)
class Experiment(abc.ABC):
    """Settings of an experiment; `presets` change several defaults at once."""

    name: ClassVar[str]
    summary: ClassVar[str]
    presets: ClassVar[dict[str, dict[str, Any]]]

    n: int = 9
    """Number of modes."""
    seed: int = 0
    """Seed of everything random."""
    preset: str = "quick"
    """Set of defaults that the other settings change."""
    steps: int = 1000
    """Training steps."""

    @classmethod
    def with_preset(cls, preset: str) -> Self:
        """The settings of a preset."""
        if preset not in cls.presets:
            raise ValueError(f"unknown preset {preset!r} for {cls.name}; there are: {', '.join(cls.presets)}")
        return cls(preset=preset, **cls.presets[preset])

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        for name in ("n", "steps"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name} must be at least 1; got {getattr(self, name)}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"--seed must be at least 0 and below 2**32; got {self.seed}")
        if self.preset not in self.presets:
            raise ValueError(f"unknown preset {self.preset!r}; there are: {', '.join(self.presets)}")

    @abc.abstractmethod
    def run(self, folder: "Path", progress: bool) -> Outcome:
        """Train in a folder, going on from what is there, and measure."""

"""The base class of all experiments: settings with presets, and a run whose results go into a folder.

Nothing here imports JAX, so that the command line can show help at once.
"""

import abc
import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from eigenax.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from eigenax.domains.box import Boundary
    from eigenax.modes import Modes
    from eigenax.operators.base import Operator


class Outcome(NamedTuple):
    """What a run found, before it is written to files."""

    modes: "Modes"
    result: dict[str, Any]
    """The experiment's own entries of result.json."""
    figures: "dict[str, tuple[Figure, str]]"
    """Pictures by file name, each with a caption for the page."""


class Preset(NamedTuple):
    """A set of settings with a name."""

    about: str
    """What the preset is for, in one line."""
    values: dict[str, Any] = {}  # noqa: RUF012
    """The settings that differ from the defaults."""
    settings: "type[Experiment] | None" = None
    """The class of these settings, if it is not the experiment itself."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings, which may contain groups of further settings. On the command line every one has a flag."""

    def flat(self) -> dict[str, Any]:
        """All settings by name, including those inside groups."""
        values: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            values |= value.flat() if isinstance(value, Settings) else {field.name: value}
        return values

    def check_at_least_one(self, *names: str) -> None:
        """Refuse settings below 1."""
        self.check_at_least(1, *names)

    def check_at_least(self, least: int, *names: str) -> None:
        """Refuse settings below a number."""
        for name in names:
            if getattr(self, name) < least:
                raise ValueError(f"--{flag(name)} must be at least {least}; got {getattr(self, name)}")

    def check_positive(self, *names: str) -> None:
        """Refuse settings that are not positive and finite."""
        for name in names:
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"--{flag(name)} must be positive and finite; got {getattr(self, name)}")

    def check_not_negative(self, *names: str) -> None:
        """Refuse settings that are negative or not finite; zero means an automatic choice."""
        for name in names:
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"--{flag(name)} must be positive, or 0 for automatic; got {getattr(self, name)}")


@dataclasses.dataclass(frozen=True)
class Experiment(Settings, abc.ABC):
    """Settings of an experiment, and its run. A preset changes several defaults, or is of another settings class."""

    name: ClassVar[str]
    summary: ClassVar[str]
    command: ClassVar[tuple[str, ...]]
    """The words after `eigenax` that start it, before its settings."""
    positional: ClassVar[tuple[str, ...]] = ()
    """Names of the settings that are given without a flag."""
    presets: ClassVar[dict[str, Preset]]
    """Presets by name; the first is the default."""
    determine_defaults: ClassVar[tuple[str, ...]] = ("preset",)
    """Names of the settings that determine the defaults of all others: the arguments of `with_preset`."""
    noun: ClassVar[str] = "mode"
    """What a run finds, in the singular: the heading of the table's first column."""
    heading: ClassVar[str] = "Eigenvalues"
    """The heading of the table on the page of a run."""
    reading: ClassVar[str] = (
        "Learned values are Rayleigh quotients on fresh samples. The standard error combines their sampling error with "
        "what more functions or more training would still change; the residual shows what is left to learn."
    )
    """How the table is to be read: the paragraph below it on the page."""

    n: int = 9
    """Number of modes."""
    seed: int = 0
    """Seed of everything random."""
    preset: str = ""
    """Named set of defaults, which the other settings change."""

    def __init_subclass__(cls):
        if "command" not in cls.__dict__ and hasattr(cls, "name"):
            cls.command = ("run", cls.name)

    def __post_init__(self):
        if not self.preset:
            object.__setattr__(self, "preset", next(iter(self.presets)))

    @classmethod
    def with_preset(cls, preset: str = "") -> Any:
        """The settings of a preset, by default the first; they may be of another class."""
        preset = preset or next(iter(cls.presets))
        if preset not in cls.presets:
            raise ValueError(f"unknown preset {preset!r} for {cls.name}; there are: {', '.join(cls.presets)}")
        _, values, settings = cls.presets[preset]
        return (settings or cls)(preset=preset, **values)

    def resolved(self) -> Self:
        """The same settings, independent of the working folder: every relative path is made absolute."""
        return self

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        self.check_at_least_one("n")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"--seed must be at least 0 and below 2**32; got {self.seed}")
        type(self).with_preset(self.preset)

    @abc.abstractmethod
    def run(self, folder: "Path", progress: bool) -> Outcome:
        """Train in a folder, or continue from the checkpoints there, and measure what was found."""


@dataclasses.dataclass(frozen=True)
class IterativeExperiment(Experiment):
    """An experiment that `eigenax.solve` solves in a limited number of steps."""

    least_steps: ClassVar[int] = 1
    """The smallest number of steps allowed: 0 where 0 means as many as it takes."""

    steps: int = 1000
    """Training steps."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least(self.least_steps, "steps")

    def solved(self, operator: "Operator", source: Any, folder: "Path", progress: bool, **more: Any) -> "Modes":
        """The modes that `eigenax.solve` finds with n, steps and seed of these settings; `more` overrides them."""
        import eigenax

        usual = {"n": self.n, "max_steps": self.steps or None, "seed": self.seed}
        try:
            return eigenax.solve(operator, source, **usual | more, checkpoint_dir=folder, progress=progress)
        except ValueError as error:  # what only the solver could see, such as a potential that is infinite somewhere
            raise InputError(str(error)) from error


def flag(name: str) -> str:
    """The name of a setting on the command line."""
    return name.replace("_", "-")


def parse_numbers(name: str, text: str, count: int) -> tuple[float, ...]:
    """Read `count` comma-separated numbers, or a single number that is repeated `count` times.

    >>> parse_numbers("low", "-1", 2), parse_numbers("low", "-1, -2.5", 2)
    ((-1.0, -1.0), (-1.0, -2.5))
    """
    try:
        values = tuple(float(word) for word in text.split(","))
    except ValueError:
        values = ()
    if not all(map(math.isfinite, values)) or len(values) not in {1, count}:
        raise ValueError(
            f"--{flag(name)} must be one number, or one for each of {count} dimensions (--dims), with commas between "
            f"them; got {text!r}"
        )
    return values if len(values) == count else values * count


def parse_boundaries(text: str, dims: int) -> "tuple[Boundary, ...]":
    """Read the boundary of each axis from comma-separated words, or that of all axes from one word.

    Two words joined by a colon are for the lower and the upper face of one axis.

    >>> parse_boundaries("neumann", 2), parse_boundaries("dirichlet:neumann, periodic", 2)
    (('neumann', 'neumann'), (('dirichlet', 'neumann'), 'periodic'))
    """
    from eigenax.domains.box import Box

    axes: Any = [tuple(word.strip() for word in axis.split(":")) for axis in text.split(",")]
    axes = [words if len(words) > 1 else words[0] for words in axes]
    try:
        return Box(0.0, 1.0, dims=dims, boundary=axes if len(axes) > 1 else axes * dims).boundary
    except ValueError as error:
        raise ValueError(
            f"--{error}; on the command line, dirichlet,periodic is for two axes, dirichlet:neumann for one"
        ) from error

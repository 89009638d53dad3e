"""Experiments that say what to solve and leave the rest to `eigenax.solve`, as a user would."""

import abc
import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from eigenax.lab.experiment import IterativeExperiment, Outcome, Preset

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from eigenax.domains.box import Box
    from eigenax.domains.surface import Surface
    from eigenax.modes import Modes
    from eigenax.operators.base import Operator


@dataclasses.dataclass(frozen=True)
class Physics(IterativeExperiment):
    """A local operator on a box or a surface, solved by what `eigenax.solve` chooses: random waves to begin with."""

    presets: ClassVar[dict[str, Preset]] = {
        "best": Preset("until nothing more is gained"),
        "quick": Preset("only the first basis of random waves", {"steps": 1}),
    }
    least_steps: ClassVar[int] = 0

    steps: int = 0
    """Steps at most, each a basis with twice as many functions as the one before; 0: as many as it takes."""
    tol: float = 0.0
    """End when all eigenvalues are known to this relative accuracy; 0: when nothing more is gained."""
    samples: int = 0
    """Points for a basis of random waves, and nothing but such bases; 0: chosen for the problem, as is the method."""

    @abc.abstractmethod
    def operator(self) -> "Operator":
        """The operator whose eigenfunctions are the modes."""

    @abc.abstractmethod
    def domain(self) -> "Box | Surface":
        """The domain of the modes."""

    @abc.abstractmethod
    def exact(self) -> "np.ndarray | None":
        """The exact first n eigenvalues, or None where they are not known; only the scores use them."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        from eigenax.samples import BATCHES

        self.check_not_negative("tol")
        if self.samples:
            self.check_at_least(BATCHES, "samples")
        if self.tol >= 1:
            raise ValueError(f"--tol must be a relative accuracy below 1, such as 1e-3; got {self.tol}")

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Solve, and compare with the exact eigenvalues where they are known."""
        import eigenax
        from eigenax.io.metrics import read_metrics

        solver = eigenax.RayleighRitz(samples=self.samples) if self.samples else eigenax.AutoSolver()
        modes = self.solved(self.operator(), self.domain(), folder, progress, solver=solver, tol=self.tol or None)
        metrics = read_metrics(folder / "metrics.jsonl")
        result = self.scores(modes) | {
            "stopped": modes.stop_reason,
            "training_seconds": metrics[-1]["seconds"],
        }
        return Outcome(modes, result, self.figures(modes, metrics))

    def scores(self, modes: "Modes") -> dict[str, Any]:
        """Errors of the eigenvalues, absolute where the exact value is zero; the mean is of the relative ones alone."""
        from eigenax.lab.scores.spectrum import relative_errors

        exact = self.exact()
        if exact is None:
            return {}
        errors, nonzero = relative_errors(modes.eigenvalues, exact), exact != 0
        mean = float(errors[nonzero].mean()) if nonzero.any() else None
        return {"exact": exact, "relative_errors": errors, "mean_relative_error": mean}

    def figures(self, modes: "Modes", metrics: list[dict[str, Any]]) -> "dict[str, tuple[Figure, str]]":
        """Modes, errors and residuals in one figure."""
        from eigenax.lab.report.physics import draw

        return {self.name: draw(self.operator(), self.domain(), modes, self.exact(), metrics)}


@dataclasses.dataclass(frozen=True)
class OnSurface(Physics):
    """The Laplace–Beltrami operator −Δ on a surface, whose area is computed only once."""

    @abc.abstractmethod
    def make_surface(self) -> "Surface":
        """The surface."""

    @functools.cached_property
    def surface(self) -> "Surface":
        """The surface, with its area."""
        return self.make_surface()

    def domain(self) -> "Surface":
        """The surface."""
        return self.surface

    def operator(self) -> "Operator":
        """−Δ."""
        import eigenax

        return -eigenax.LaplaceBeltrami(self.surface.embedding)

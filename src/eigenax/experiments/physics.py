"""Experiments that say what to solve and leave the rest to `eigenax.solve`, as a user would."""

import abc
import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from eigenax.experiments.base import Experiment, Outcome

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from eigenax.modes import Modes
    from eigenax.operators.base import Operator
    from eigenax.sources.box import Box
    from eigenax.sources.surface import Surface


@dataclasses.dataclass(frozen=True)
class Physics(Experiment):
    """A local operator on a box or a surface, solved in rounds of ever more random waves."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"best": {}, "quick": {"steps": 1}}

    preset: str = "best"
    """Set of defaults that the other settings change."""
    steps: int = 3
    """Rounds, each with twice as many functions as the one before."""
    tolerance: float = 0.0
    """End when every residual norm is at most this; 0: when they no longer fall."""
    samples: int = 0
    """Points for a round; 0: as many as its functions need."""

    @abc.abstractmethod
    def operator(self) -> "Operator":
        """What the modes are the eigenfunctions of."""

    @abc.abstractmethod
    def domain(self) -> "Box | Surface":
        """Where they live."""

    @abc.abstractmethod
    def exact(self) -> "np.ndarray | None":
        """The first n eigenvalues, for scoring, where they are known."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_not_negative("samples", "tolerance")

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Solve, and compare with what is known."""
        import eigenax
        from eigenax.errors import InputError
        from eigenax.io.metrics import read_metrics

        try:
            modes = eigenax.solve(
                self.operator(),
                self.domain(),
                self.n,
                steps=self.steps,
                tolerance=self.tolerance or None,
                seed=self.seed,
                samples=self.samples or None,
                folder=folder,
                progress=progress,
            )
        except ValueError as error:  # what only the solver could see, such as a potential that is infinite somewhere
            raise InputError(str(error)) from error
        metrics = read_metrics(folder / "metrics.jsonl")
        result = self.scores(modes) | {
            "steps": modes.steps,
            "stopped": modes.stopped,
            "training_seconds": metrics[-1]["seconds"],
        }
        return Outcome(modes, result, self.figures(modes, metrics))

    def scores(self, modes: "Modes") -> dict[str, Any]:
        """Errors of the eigenvalues: absolute ones where the exact value is zero, and those are not in the mean."""
        from eigenax.evaluation.scores import relative_errors

        exact = self.exact()
        if exact is None:
            return {}
        errors, nonzero = relative_errors(modes.eigenvalues, exact), exact != 0
        mean = float(errors[nonzero].mean()) if nonzero.any() else None
        return {"exact": exact, "relative_errors": errors, "mean_relative_error": mean}

    def figures(self, modes: "Modes", metrics: list[dict[str, Any]]) -> "dict[str, tuple[Figure, str]]":
        """Modes, errors and residuals in one figure."""
        from eigenax.report.physics import draw

        return {self.name: draw(self.operator(), self.domain(), modes, self.exact(), metrics)}


@dataclasses.dataclass(frozen=True)
class OnSurface(Physics):
    """The Laplace–Beltrami operator −Δ on a surface, which is measured once."""

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

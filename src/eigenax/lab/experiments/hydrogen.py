"""The hydrogen atom −∇² − Z/r in two or three dimensions; in two it is the paper's first experiment."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from eigenax.lab.experiment import Outcome, flag
from eigenax.lab.experiments.physics import Physics
from eigenax.lab.experiments.published import PUBLISHED
from eigenax.lab.experiments.trained_atom import TrainedAtom, coulomb

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from eigenax.domains.box import Box
    from eigenax.lab.baselines.grid import GridModes
    from eigenax.modes import Modes
    from eigenax.operators.base import Operator

GRID_POINTS = 128


@dataclasses.dataclass(frozen=True)
class Hydrogen(TrainedAtom):
    """The lowest states of the hydrogen atom.

    `best` takes ever more random waves. `quick` trains a network on samples near the nucleus that sees
    inputs with a cusp. `paper` has the settings of the publication, uniform samples and finite differences, and trains
    without bias correction as well. Settings of the training belong to `quick` and `paper`.
    """

    name: ClassVar[str] = "hydrogen"
    summary: ClassVar[str] = "hydrogen atom in two or three dimensions, against the closed form and a grid solver"
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "best": {},
        "quick": {"steps": 20_000, "half_width": 80.0},
        "paper": PUBLISHED
        | {
            "steps": 600_000,
            "half_width": 50.0,
            "sampling": "uniform",
            "inputs": "plain",
            "width": 128,
            "depth": 4,
            "laplacian": "finite-difference",
            "learning_rate": 1e-5,
            "final_learning_rate": 1e-5,
            "samples": 2**20,
            "uncorrected_too": True,
        },
    }

    steps: int = 0
    """Bases that `best` tries at most, each with twice as many functions as the one before, 0: as many as it takes;
    otherwise training steps."""
    dims: int = 2
    """Number of dimensions, 2 or 3."""
    charge: float = 1.0
    """Charge Z of the nucleus."""

    @property
    def trains(self) -> bool:
        """Whether a network is trained."""
        return self.preset != "best"

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_positive("charge")
        if self.dims not in (2, 3):
            raise ValueError(f"--dims must be 2 or 3; got {self.dims}")
        self.check_not_negative("half_width")
        common = {field.name for field in dataclasses.fields(Physics)} | {"half_width"}
        training = {field.name for field in dataclasses.fields(TrainedAtom)} - common
        for name in ("dims", "charge", "tol") if self.trains else sorted(training):
            if getattr(self, name) != getattr(type(self), name):
                other = "best" if self.trains else "quick and paper"
                raise ValueError(f"--{flag(name)} is a setting of --preset {other}; the preset is {self.preset}")
        if self.trains:
            self.check_at_least_one("steps")
            self.check_training()

    def operator(self) -> "Operator":
        """−∇² − Z/r."""
        import eigenax

        nucleus = (0.0,) * self.dims
        return -eigenax.Laplacian() + self.charge * eigenax.Potential(coulomb, singularities=[nucleus])

    def domain(self) -> "Box":
        """A box around the outermost state."""
        import eigenax

        width = self.half_width or self.reach
        return eigenax.Box(-width, width, dims=self.dims)

    @property
    def reach(self) -> float:
        """Where the outermost state has ended: in units of its decay length r₀, less than 1e-9 of r^2m e^(−2r/r₀) is
        left there."""
        shell = _shells(self.n, self.dims) - 1
        decay = 2 * shell + self.dims - 1
        return decay * (14 + 2 * shell) / self.charge

    def exact(self) -> "np.ndarray":
        """−Z²/(2m+1)² in two dimensions, −Z²/(2m)² in three."""
        from eigenax.lab.spectra.hydrogen import energies

        return energies(self.n, self.dims, self.charge)

    @functools.cached_property
    def grid(self) -> "GridModes":
        """What a sparse eigensolver on a grid finds."""
        from eigenax.lab.baselines.grid import grid_modes

        return grid_modes(lambda x: self.charge * coulomb(x), self.domain(), self.n, GRID_POINTS)

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Solve or train, and compare with the closed form and, in two dimensions, a grid."""
        return self.run_training(folder, progress) if self.trains else super().run(folder, progress)

    def scores(self, modes: "Modes") -> dict[str, Any]:
        """Errors against the closed form, and what a grid makes of it."""
        grid = {"grid_eigenvalues": self.grid.eigenvalues} if self.dims == 2 else {}
        return super().scores(modes) | grid

    def figures(self, modes: "Modes", metrics: list[dict[str, Any]]) -> "dict[str, tuple[Figure, str]]":
        """In two dimensions with the grid's modes above the learned ones."""
        from eigenax.lab.report.physics import draw

        if self.dims != 2:
            return super().figures(modes, metrics)
        return {self.name: draw(self.operator(), self.domain(), modes, self.exact(), metrics, self.grid)}


def _shells(n: int, dims: int) -> int:
    """How many shells hold the first n states."""
    held, count = 0, 0
    while held < n:
        held += 2 * count + 1 if dims == 2 else (count + 1) ** 2
        count += 1
    return count

"""The hydrogen atom −∇² − Z/r in two or three dimensions; in two it is the paper's first experiment."""

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, ClassVar

from eigenax.lab.experiment import Preset
from eigenax.lab.experiments.physics import Physics
from eigenax.lab.experiments.trained_atom import GRID_POINTS, TrainedAtom, coulomb

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from eigenax.domains.box import Box
    from eigenax.lab.baselines.grid import GridModes
    from eigenax.modes import Modes
    from eigenax.operators.base import Operator


@dataclasses.dataclass(frozen=True)
class Hydrogen(Physics):
    """The lowest states of the hydrogen atom.

    Solved for in two or three dimensions; or learned by a network, in two dimensions with a charge of one.
    """

    name: ClassVar[str] = "hydrogen"
    summary: ClassVar[str] = "hydrogen atom in two or three dimensions, against the closed form and a grid solver"
    presets: ClassVar[dict[str, Preset]] = {"best": Physics.presets["best"]} | {
        name: preset._replace(settings=TrainedAtom) for name, preset in TrainedAtom.presets.items()
    }

    half_width: float = 0.0
    """Half the side of the box; the functions are zero at its edge. 0: wide enough for the states asked for."""
    dims: int = 2
    """Number of dimensions, 2 or 3."""
    charge: float = 1.0
    """Charge Z of the nucleus."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_positive("charge")
        if self.dims not in (2, 3):
            raise ValueError(f"--dims must be 2 or 3; got {self.dims}")
        self.check_not_negative("half_width")

    def operator(self) -> "Operator":
        """−∇² − Z/r."""
        import eigenax

        nucleus = (0.0,) * self.dims
        return -eigenax.Laplacian() + self.charge * eigenax.Potential(coulomb, singularities=[nucleus])

    def domain(self) -> "Box":
        """A box around the outermost state."""
        import eigenax
        from eigenax.lab.spectra.hydrogen import reach

        width = self.half_width or reach(self.n, self.dims, self.charge)
        return eigenax.Box(-width, width, dims=self.dims)

    def exact(self) -> "np.ndarray":
        """−Z²/(2m+1)² in two dimensions, −Z²/(2m)² in three."""
        from eigenax.lab.spectra.hydrogen import energies

        return energies(self.n, self.dims, self.charge)

    @functools.cached_property
    def grid(self) -> "GridModes":
        """The modes that a sparse eigensolver finds on a grid."""
        from eigenax.lab.baselines.grid import grid_modes

        return grid_modes(lambda x: self.charge * coulomb(x), self.domain(), self.n, GRID_POINTS)

    def scores(self, modes: "Modes") -> dict[str, Any]:
        """Errors against the closed form, and in two dimensions the eigenvalues of a grid."""
        grid = {"grid_eigenvalues": self.grid.eigenvalues} if self.dims == 2 else {}
        return super().scores(modes) | grid

    def figures(self, modes: "Modes", metrics: list[dict[str, Any]]) -> "dict[str, tuple[Figure, str]]":
        """The modes and their errors; in two dimensions with the grid's modes above the learned ones."""
        from eigenax.lab.report.physics import draw

        if self.dims != 2:
            return super().figures(modes, metrics)
        return {self.name: draw(self.operator(), self.domain(), modes, self.exact(), metrics, self.grid)}

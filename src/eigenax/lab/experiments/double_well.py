"""The double well: pairs of states that tunnelling splits."""

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiments.physics import Physics

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Array

    from eigenax.domains.box import Box
    from eigenax.operators.base import Operator

MARGIN = 3.0
"""Distance between the outermost turning point and the wall, in units of a^(−1/6)."""


@dataclasses.dataclass(frozen=True)
class DoubleWell(Physics):
    """The lowest states of −d²/dx² + a (x² − b²)²."""

    name: ClassVar[str] = "double-well"
    summary: ClassVar[str] = "two wells side by side on a line, against a spectral method"

    n: int = 6
    """Number of modes."""
    a: float = 1.0
    """Steepness of the wells; the barrier between them is a b⁴ high."""
    b: float = 2.0
    """Distance of each well from the middle."""
    half_width: float = 0.0
    """Half the length of the line; 0: long enough for the states asked for."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_positive("a", "b")
        self.check_not_negative("half_width")

    def potential(self, x: "Array") -> "Array":
        """a (x² − b²)²."""
        return self.a * (x[0] ** 2 - self.b**2) ** 2

    def operator(self) -> "Operator":
        """−d²/dx² + a (x² − b²)²."""
        import eigenax

        return -eigenax.Laplacian() + eigenax.Potential(self.potential)

    @property
    def reach(self) -> float:
        """Half the length of the line: `half_width`, or where the last state asked for has decayed.

        Its energy is bounded by that in the higher potential a x⁴ + a b⁴, which Bohr–Sommerfeld quantisation gives.
        """
        energy = self.a * self.b**4 + self.a ** (1 / 3) * (2.185 * (self.n - 0.5)) ** (4 / 3)
        turning = math.sqrt(self.b**2 + math.sqrt(energy / self.a))
        return self.half_width or turning + MARGIN * self.a ** (-1 / 6)

    def domain(self) -> "Box":
        """The line."""
        import eigenax

        return eigenax.Box(-self.reach, self.reach, dims=1)

    def exact(self) -> "np.ndarray":
        """By a spectral method that is converged to nearly the last digit."""
        from eigenax.lab.spectra.line import line_energies

        return line_energies(self.potential, -self.reach, self.reach, self.n)

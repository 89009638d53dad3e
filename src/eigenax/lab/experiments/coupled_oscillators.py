"""Oscillators that are all coupled with each other."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiments.many_dimensions import Vibrations

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.box import Box
    from eigenax.lab.polynomial import Polynomial

MARGIN = 5.0
"""Distance of the wall from a turning point, in widths of the ground state: e^(−MARGIN²) of a state is left there."""


@dataclasses.dataclass(frozen=True)
class CoupledOscillators(Vibrations):
    """The lowest levels of −½∇² + ½ Σ ω_i² x_i² + coupling Σ_{i>j} √(ω_i ω_j) x_i x_j with ω_i = √(i/2)."""

    name: ClassVar[str] = "coupled-oscillators"
    summary: ClassVar[str] = "bilinearly coupled oscillators of Thomas and Carrington, against their normal modes"

    n: int = 8
    """Number of modes."""
    dims: int = 6
    """Number of dimensions."""
    coupling: float = 0.1
    """Strength of the coupling."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        self.check_at_least_one("dims")
        super().check()
        try:
            self.exact()
        except ValueError as error:
            raise ValueError(f"--coupling {self.coupling:g} is too large for bound states: {error}") from error

    @property
    def stiffness(self) -> "np.ndarray":
        """K of V = ½ xᵀKx."""
        from eigenax.lab.spectra.normal_modes import coupled_stiffness

        return coupled_stiffness(self.dims, self.coupling)

    def polynomial(self) -> "Polynomial":
        """½ xᵀKx."""
        from eigenax.lab.polynomial import Polynomial

        axes = range(self.dims)
        return Polynomial.of([(float(self.stiffness[i, j]) / 2, (i, j)) for i in axes for j in axes], self.dims)

    def domain(self) -> "Box":
        """A box that does not disturb the states: with all their energy in the softest mode, they end inside it."""
        import numpy as np

        import eigenax

        squares, directions = np.linalg.eigh(self.stiffness)
        widths = np.sqrt((directions**2) @ squares**-0.5)
        levels = self.exact()
        quanta = (levels[-1] - levels[0]) / np.sqrt(squares[0])
        reach = (np.sqrt(2 * quanta + 1) + MARGIN) * widths
        return eigenax.Box((-reach).tolist(), reach.tolist())

    def exact(self) -> "np.ndarray":
        """Σ ν_i (m_i + ½) with the frequencies ν_i of the normal modes."""
        from eigenax.lab.spectra.normal_modes import normal_mode_energies

        return normal_mode_energies(self.n, self.stiffness)

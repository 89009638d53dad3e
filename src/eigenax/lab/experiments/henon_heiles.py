"""The Hénon–Heiles oscillators."""

import dataclasses
import functools
import math
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiments.many_dimensions import Vibrations, in_words

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.box import Box
    from eigenax.lab.baselines.vibrational_ci import VibrationalLevels
    from eigenax.lab.polynomial import Polynomial


@dataclasses.dataclass(frozen=True)
class HenonHeiles(Vibrations):
    """The lowest levels of −½∇² + ½x² + coupling Σ (x_i² x_{i+1} − x_{i+1}³/3).

    V has no lower bound. With the usual coupling it is positive in the box ±6, but not in ±7.
    """

    name: ClassVar[str] = "henon-heiles"
    summary: ClassVar[str] = "Hénon–Heiles oscillators, against vibrational configuration interaction"
    reference: ClassVar[str] = "classical"

    n: int = 6
    """Number of modes."""
    dims: int = 6
    """Number of dimensions."""
    coupling: float = math.sqrt(0.0125)
    """Strength of the cubic terms."""
    half_width: float = 6.0
    """Half the side of the box."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        self.check_at_least(2, "dims")
        super().check()
        self.check_positive("half_width")

    def polynomial(self) -> "Polynomial":
        """½x² + coupling Σ (x_i² x_{i+1} − x_{i+1}³/3)."""
        from eigenax.lab.polynomial import Polynomial

        terms: list = [(0.5, (i, i)) for i in range(self.dims)]
        for i in range(self.dims - 1):
            terms += [(self.coupling, (i, i, i + 1)), (-self.coupling / 3, (i + 1, i + 1, i + 1))]
        return Polynomial.of(terms, self.dims)

    def widths(self) -> "np.ndarray":
        """Those of the harmonic part."""
        import numpy as np

        return np.ones(self.dims)

    def domain(self) -> "Box":
        """A box in which V is positive."""
        import eigenax

        return eigenax.Box(-self.half_width, self.half_width, dims=self.dims)

    @functools.cached_property
    def _with_fewer_quanta(self) -> "VibrationalLevels":
        """The classical levels from a smaller basis, whose differences tell how far these have converged."""
        from eigenax.lab.baselines.vibrational_ci import vibrational_ci

        fewer = max(self.classical().quanta - 2, 1)
        return vibrational_ci(self.polynomial(), self.n, fewer, self.kinetic, self.widths())

    def exact(self) -> "np.ndarray":
        """The classical levels: there is no closed form."""
        return self.classical().values

    def classical_errors(self) -> tuple[float | None, float | None]:
        """By how much the classical levels change from a basis with two quanta fewer."""
        from eigenax.lab.scores.excitations import mean_errors

        return mean_errors(self._with_fewer_quanta.values, self.exact())

    def yardstick(self, classical: "VibrationalLevels", of_levels: float | None, of_excitations: float | None) -> str:
        """How the classical levels were found, and how well they are known."""
        return (
            f"The classical levels are those of vibrational configuration interaction with {classical.quanta} quanta, "
            f"{classical.functions:,} products of oscillator functions, found in {classical.seconds:.2g} s. The last "
            f"two quanta changed them by a mean of {in_words(of_levels, of_excitations)}."
        )

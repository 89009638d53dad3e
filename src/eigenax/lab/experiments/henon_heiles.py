"""The Hénon–Heiles oscillators."""

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiments.many_dimensions import ClassicallyKnown

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.box import Box
    from eigenax.lab.polynomial import Polynomial

FUNCTIONS = 200_000
"""Largest basis of the classical method."""


@dataclasses.dataclass(frozen=True)
class HenonHeiles(ClassicallyKnown):
    """The lowest levels of −½∇² + ½x² + coupling Σ (x_i² x_{i+1} − x_{i+1}³/3).

    V has no lower bound. With the usual coupling it is positive in the box ±6, but not in ±7.
    """

    name: ClassVar[str] = "henon-heiles"
    summary: ClassVar[str] = "Hénon–Heiles oscillators, against vibrational configuration interaction"

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

    def usual_quanta(self) -> int:
        """More than usual, since the matrix has few elements: in 10 dimensions 10, for levels to some 1e-6."""
        from eigenax.lab.baselines.vibrational_ci import usual_quanta

        return usual_quanta(self.dims, self.n, functions=FUNCTIONS)

    def domain(self) -> "Box":
        """A box in which V is positive."""
        import eigenax

        return eigenax.Box(-self.half_width, self.half_width, dims=self.dims)

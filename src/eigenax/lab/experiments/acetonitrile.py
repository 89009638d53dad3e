"""The vibrations of a molecule: acetonitrile, CH₃CN."""

import dataclasses
import functools
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiments.many_dimensions import Vibrations

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.box import Box
    from eigenax.lab.force_field import ForceField
    from eigenax.lab.polynomial import Polynomial

PUBLISHED = 70
"""Number of published levels."""


@dataclasses.dataclass(frozen=True)
class Acetonitrile(Vibrations):
    """The lowest vibrational levels of acetonitrile, CH₃CN, in cm⁻¹, from a quartic force field in 12 dimensions.

    The operator is −½∇² + V in x_i = q_i/√ω_i. V has no lower bound: it is positive for |q_i| ≤ 4, but not for 4.5.
    """

    name: ClassVar[str] = "acetonitrile"
    summary: ClassVar[str] = "vibrational levels of CH₃CN in 12 dimensions, beside the published ones"
    reference: ClassVar[str] = "published"
    unit: ClassVar[str] = "cm⁻¹"
    noun: ClassVar[str] = "level"

    reach: float = 4.0
    """Largest |q_i| in the box."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_positive("reach")
        if self.n > PUBLISHED:
            raise ValueError(f"--n must be at most {PUBLISHED}, the number of published levels; got {self.n}")

    @functools.cached_property
    def field(self) -> "ForceField":
        """The force field, which comes with the package."""
        from eigenax.lab.force_field import ForceField

        return ForceField.read(str(files("eigenax.lab.datasets") / "acetonitrile" / "force_field.txt"))

    def polynomial(self) -> "Polynomial":
        """V(x) in cm⁻¹."""
        return self.field.potential

    def widths(self) -> "np.ndarray":
        """Those of the harmonic part."""
        return self.field.scales

    def domain(self) -> "Box":
        """The box |q_i| ≤ reach."""
        import eigenax

        reach = self.field.reach(self.reach)
        return eigenax.Box((-reach).tolist(), reach.tolist())

    def exact(self) -> "np.ndarray":
        """The published levels: that of the ground state, and with it those above."""
        import numpy as np

        text = (files("eigenax.lab.datasets") / "acetonitrile" / "levels.txt").read_text(encoding="utf-8")
        ground, *above = map(float, (line for line in text.splitlines() if not line.startswith("#")))
        return np.array([ground, *(ground + level for level in above)])[: self.n]

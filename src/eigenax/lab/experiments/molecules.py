"""Vibrations of molecules: acetonitrile, and any force field from a file."""

import abc
import dataclasses
import functools
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from eigenax.lab.experiments.many_dimensions import ClassicallyKnown, Vibrations

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.box import Box
    from eigenax.lab.force_field import ForceField
    from eigenax.lab.polynomial import Polynomial

ACETONITRILE = files("eigenax.lab.datasets") / "acetonitrile"
PUBLISHED = 70
"""Number of published levels of acetonitrile."""


@dataclasses.dataclass(frozen=True)
class ForceFieldVibrations(Vibrations):
    """−½∇² + V in x_i = q_i/√ω_i, q the dimensionless normal coordinates of a force field."""

    noun: ClassVar[str] = "level"
    unit: ClassVar[str] = "cm⁻¹"

    n: int = 9
    """Number of levels."""
    reach: float = 4.0
    """Largest |q_i| in the box: force fields of low order have no lower bound far out."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        self.check_positive("reach")
        _ = self.force_field  # says what is wrong with the file
        super().check()

    @abc.abstractmethod
    def read(self) -> "ForceField":
        """Read the force field."""

    @functools.cached_property
    def force_field(self) -> "ForceField":
        """The force field, which is read once."""
        return self.read()

    def polynomial(self) -> "Polynomial":
        """V(x)."""
        return self.force_field.potential

    def widths(self) -> "np.ndarray":
        """Those of the harmonic part."""
        return self.force_field.scales

    def domain(self) -> "Box":
        """The box |q_i| ≤ reach."""
        return self.force_field.box(self.reach)


@dataclasses.dataclass(frozen=True)
class Acetonitrile(ForceFieldVibrations):
    """The lowest vibrational levels of acetonitrile, CH₃CN, in cm⁻¹, from a quartic force field in 12 dimensions.

    The force field has no lower bound: V is positive for |q_i| ≤ 4, but not for 4.5.
    """

    name: ClassVar[str] = "acetonitrile"
    summary: ClassVar[str] = "vibrational levels of CH₃CN in 12 dimensions, beside the published ones"
    reference: ClassVar[str] = "published"

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        if self.n > PUBLISHED:
            raise ValueError(f"--n must be at most {PUBLISHED}, the number of published levels; got {self.n}")

    def read(self) -> "ForceField":
        """The force field that comes with the package."""
        from eigenax.lab.force_field import ForceField

        return ForceField.read(str(ACETONITRILE / "force_field.txt"))

    def exact(self) -> "np.ndarray":
        """The published levels: that of the ground state, and with it those above."""
        import numpy as np

        text = (ACETONITRILE / "levels.txt").read_text(encoding="utf-8")
        ground, *above = map(float, (line for line in text.splitlines() if not line.startswith("#")))
        return np.array([ground, *(ground + level for level in above)])[: self.n]


@dataclasses.dataclass(frozen=True)
class Molecule(ForceFieldVibrations, ClassicallyKnown):
    """The lowest vibrational levels of a molecule, from a force field of your own.

    Its file has one line of frequencies ω_i, and one line for each constant: modes, counted from 0 and repeated as
    often as their power, a colon, and the constant, all in cm⁻¹: `0 0 1 : -21.1` is −21.1 q₀²/2! q₁.
    """

    name: ClassVar[str] = "molecule"
    summary: ClassVar[str] = "vibrational levels from a force field of your own, beside the classical method"

    field: str = ""
    """File of the force field."""

    def resolved(self) -> Self:
        """The same settings with the absolute path of the file."""
        return dataclasses.replace(self, field=str(Path(self.field).resolve())) if self.field else self

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        if not self.field:
            raise ValueError("--field FILE is needed: a text file of frequencies and constants")
        super().check()

    def read(self) -> "ForceField":
        """The force field of the file."""
        from eigenax.lab.force_field import ForceField

        return ForceField.read(self.field)

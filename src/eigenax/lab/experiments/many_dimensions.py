"""Experiments in any number of dimensions: levels and excitation energies, beside exact ones and a classical method."""

import abc
import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any, ClassVar

from eigenax.lab.experiments.physics import Physics

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from eigenax.lab.baselines.vibrational_ci import VibrationalLevels
    from eigenax.lab.polynomial import Polynomial
    from eigenax.modes import Modes
    from eigenax.operators.base import Operator

MOST_FUNCTIONS = 300_000
"""Largest basis of the classical method: 125 970 functions of acetonitrile, of 8 quanta, take 1.4 GB."""


@dataclasses.dataclass(frozen=True)
class ManyDimensions(Physics):
    """Levels that are known, in any number of dimensions."""

    reference: ClassVar[str] = "exact"
    """Where the known levels come from, in one word: the heading of their column."""
    unit: ClassVar[str] = ""
    """The unit of the levels."""

    @abc.abstractmethod
    def exact(self) -> "np.ndarray":
        """The known first n eigenvalues; only the scores use them."""

    def classical(self) -> "VibrationalLevels | None":
        """What the classical method finds, where there is one."""
        return None

    def classical_errors(self) -> tuple[float | None, float | None]:
        """Mean relative errors of the classical levels, and of their excitation energies."""
        from eigenax.lab.scores.excitations import mean_errors

        found = self.classical()
        return (None, None) if found is None else mean_errors(found.values, self.exact())

    def scores(self, modes: "Modes") -> dict[str, Any]:
        """Errors of the levels and of the excitation energies, and those of the classical method."""
        from eigenax.lab.scores.excitations import mean_errors

        found, exact, classical = modes.excitations, self.exact(), self.classical()
        known = exact[1:] - exact[0]
        scores = super().scores(modes) | {
            "reference": self.reference,
            "unit": self.unit,
            "excitations": {
                "energies": found.values,
                "standard_errors": found.standard_errors,
                "exact": known,
                "errors": found.values - known,
            },
            "mean_relative_excitation_error": mean_errors(modes.eigenvalues, exact)[1],
        }
        if classical is None:
            return scores
        of_levels, of_excitations = self.classical_errors()
        if self.reference != "classical":
            scores["excitations"]["classical"] = classical.values[1:] - classical.values[0]
        scores["classical"] = classical._asdict() | {
            "mean_relative_error": of_levels,
            "mean_relative_excitation_error": of_excitations,
        }
        return scores | {"yardstick": self.yardstick(classical, of_levels, of_excitations)}

    def yardstick(self, classical: "VibrationalLevels", of_levels: float | None, of_excitations: float | None) -> str:
        """What the classical method needs and reaches, in words."""
        return (
            f"Vibrational configuration interaction with {classical.quanta} quanta, {classical.functions:,} products "
            f"of oscillator functions, takes {classical.seconds:.2g} s. Its mean relative error is "
            f"{in_words(of_levels, of_excitations)}."
        )

    def figures(self, modes: "Modes", metrics: list[dict[str, Any]]) -> "dict[str, tuple[Figure, str]]":
        """The levels beside the known ones, and the modes."""
        from eigenax.lab.report.levels import Levels, draw

        classical = self.classical()
        measured = None if classical is None else (classical.seconds, *self.classical_errors())
        levels = Levels(modes, self.exact(), self.reference, self.unit, metrics, measured)
        return {"levels": draw(levels)} | super().figures(modes, metrics)


@dataclasses.dataclass(frozen=True)
class Vibrations(ManyDimensions):
    """−kinetic ∇² + V with a polynomial V, to which vibrational configuration interaction is the classical method."""

    kinetic: ClassVar[float] = 0.5

    quanta: int = 0
    """Quanta in the basis of the classical method; 0: as many as its memory and time allow."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_not_negative("quanta")
        if self.quanta:
            functions = math.comb(self.quanta + self.polynomial().dims, self.quanta)
            if functions < self.n:
                raise ValueError(
                    f"--quanta must give at least --n, {self.n}, functions; {self.quanta} give {functions}"
                )
            if functions > MOST_FUNCTIONS:
                raise ValueError(
                    f"--quanta must give at most {MOST_FUNCTIONS:,} functions; {self.quanta} give {functions:,}"
                )

    @abc.abstractmethod
    def polynomial(self) -> "Polynomial":
        """V."""

    def widths(self) -> "np.ndarray | None":
        """The widths of the oscillator functions; None: those of the product with the lowest energy."""
        return None

    def operator(self) -> "Operator":
        """−kinetic ∇² + V."""
        import eigenax

        return -self.kinetic * eigenax.Laplacian() + eigenax.Potential(self.polynomial())

    def usual_quanta(self) -> int:
        """The quanta of the classical method where none are given."""
        from eigenax.lab.baselines.vibrational_ci import usual_quanta

        return usual_quanta(self.polynomial().dims, self.n)

    @functools.cached_property
    def _classical(self) -> "VibrationalLevels":
        from eigenax.lab.baselines.vibrational_ci import vibrational_ci

        quanta = self.quanta or self.usual_quanta()
        return vibrational_ci(self.polynomial(), self.n, quanta, self.kinetic, self.widths())

    def classical(self) -> "VibrationalLevels":
        """The levels of vibrational configuration interaction."""
        return self._classical


@dataclasses.dataclass(frozen=True)
class ClassicallyKnown(Vibrations):
    """Levels with no closed form, for which those of the classical method are taken."""

    reference: ClassVar[str] = "classical"

    @functools.cached_property
    def _with_fewer_quanta(self) -> "VibrationalLevels":
        """The classical levels from a smaller basis, whose differences tell how far these have converged."""
        from eigenax.lab.baselines.vibrational_ci import least_quanta, vibrational_ci

        fewer = max(self.classical().quanta - 2, least_quanta(self.polynomial().dims, self.n))
        return vibrational_ci(self.polynomial(), self.n, fewer, self.kinetic, self.widths())

    def exact(self) -> "np.ndarray":
        """The classical levels."""
        return self.classical().values

    def classical_errors(self) -> tuple[float | None, float | None]:
        """By how much the classical levels differ from those in a basis with two quanta fewer."""
        from eigenax.lab.scores.excitations import mean_errors

        return mean_errors(self._with_fewer_quanta.values, self.exact())

    def yardstick(self, classical: "VibrationalLevels", of_levels: float | None, of_excitations: float | None) -> str:
        """How the classical levels were found, and how well they are known."""
        return (
            f"The classical levels are those of vibrational configuration interaction with {classical.quanta} quanta, "
            f"{classical.functions:,} products of oscillator functions, found in {classical.seconds:.2g} s. Its last "
            f"two quanta changed them by a mean of {in_words(of_levels, of_excitations)}."
        )


def in_words(of_levels: float | None, of_excitations: float | None) -> str:
    """Errors of levels and of excitation energies, as far as they are known.

    >>> in_words(1e-3, 0.02), in_words(1e-3, None)
    ('1e-03 for the levels and 2e-02 for the excitation energies', '1e-03 for the levels')
    """
    each = ((of_levels, "for the levels"), (of_excitations, "for the excitation energies"))
    return " and ".join(f"{error:.0e} {of}" for error, of in each if error is not None)

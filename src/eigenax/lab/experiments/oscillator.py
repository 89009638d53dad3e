"""The harmonic oscillator in any number of dimensions."""

import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiment import parse_numbers
from eigenax.lab.experiments.physics import Physics

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.box import Box
    from eigenax.operators.base import Operator

MARGIN = 5.0
"""Distance of the wall from a turning point, in widths of the ground state: e^(−MARGIN²) of a state is left there."""


@dataclasses.dataclass(frozen=True)
class Oscillator(Physics):
    """The lowest states of −∇² + Σ aᵢ xᵢ², in a box that does not disturb them."""

    name: ClassVar[str] = "oscillator"
    summary: ClassVar[str] = "harmonic oscillator in one to ten or more dimensions, against the closed form"

    dims: int = 2
    """Number of dimensions."""
    stiffness: str = "1"
    """The aᵢ: one number for all axes, or one for each with commas between them."""
    half_width: float = 0.0
    """Half the side of the box; 0: wide enough on each axis for the states asked for."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("dims")
        self.check_not_negative("half_width")
        if min(self.stiffnesses) <= 0:
            raise ValueError(f"--stiffness must be positive on every axis; got {self.stiffness!r}")

    @property
    def stiffnesses(self) -> tuple[float, ...]:
        """The stiffness of each axis."""
        return parse_numbers("stiffness", self.stiffness, self.dims)

    def operator(self) -> "Operator":
        """−∇² + Σ aᵢ xᵢ²."""
        import jax.numpy as jnp

        import eigenax

        a = self.stiffnesses
        return -eigenax.Laplacian() + eigenax.Potential(lambda x: jnp.sum(jnp.asarray(a, x.dtype) * x**2))

    def domain(self) -> "Box":
        """A box around the outermost state of each axis."""
        import eigenax

        widths = [self.half_width] * self.dims if self.half_width else self._half_widths()
        return eigenax.Box([-width for width in widths], widths)

    def _half_widths(self) -> list[float]:
        """Half the side of the box along each axis: the turning point of the highest state needed there, and a margin.

        The softest axes alone have n states with up to `shell` quanta, so that none of the first n states has more
        energy than `shell` of their quanta, along any axis.
        """
        frequencies = [math.sqrt(a) for a in self.stiffnesses]
        softest = min(frequencies)
        alike = sum(f == softest for f in frequencies)
        shell = next(m for m in range(self.n) if math.comb(m + alike, alike) >= self.n)
        quanta = [math.floor(shell * softest / f) for f in frequencies]
        return [(math.sqrt(2 * q + 1) + MARGIN) / math.sqrt(f) for q, f in zip(quanta, frequencies, strict=True)]

    def exact(self) -> "np.ndarray":
        """Σ √aᵢ (2mᵢ + 1)."""
        from eigenax.lab.spectra.oscillator import oscillator_energies

        return oscillator_energies(self.n, self.stiffnesses)

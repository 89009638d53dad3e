"""The torus of revolution."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiments.physics import OnSurface

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.surface import Surface


@dataclasses.dataclass(frozen=True)
class Torus(OnSurface):
    """The lowest modes of the Laplace–Beltrami operator −Δ on a torus."""

    name: ClassVar[str] = "torus"
    summary: ClassVar[str] = "Laplace–Beltrami operator on a torus of revolution, against its Fourier series"

    major: float = 2.0
    """Distance of the middle of the tube from the axis."""
    minor: float = 1.0
    """Radius of the tube."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_positive("major", "minor")
        if self.minor >= self.major:
            raise ValueError(f"--minor must be less than --major, {self.major:g}; got {self.minor:g}")

    def make_surface(self) -> "Surface":
        """The torus."""
        import eigenax

        return eigenax.torus(self.major, self.minor)

    def exact(self) -> "np.ndarray":
        """From one ordinary differential equation for each number of waves around the axis."""
        from eigenax.lab.spectra.torus import torus_spectrum

        return torus_spectrum(self.major, self.minor, self.n)

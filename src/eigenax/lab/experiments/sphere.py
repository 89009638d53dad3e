"""The sphere: spherical harmonics."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiments.physics import OnSurface

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.surface import Surface


@dataclasses.dataclass(frozen=True)
class Sphere(OnSurface):
    """The lowest modes of the Laplace–Beltrami operator −Δ on a sphere."""

    name: ClassVar[str] = "sphere"
    summary: ClassVar[str] = "Laplace–Beltrami operator on a sphere, against l(l+1)"

    n: int = 16
    """Number of modes."""
    radius: float = 1.0
    """Radius of the sphere."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_positive("radius")

    def make_surface(self) -> "Surface":
        """The sphere."""
        import eigenax

        return eigenax.sphere(self.radius)

    def exact(self) -> "np.ndarray":
        """l(l+1), each 2l+1 times."""
        from eigenax.lab.spectra.sphere import sphere_spectrum

        return sphere_spectrum(self.n, self.radius)

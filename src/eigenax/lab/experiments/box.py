"""The Laplacian on a box: a particle between walls, a drum, a ring."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiment import parse_boundaries
from eigenax.lab.experiments.physics import Physics

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.box import Box
    from eigenax.operators.base import Operator


@dataclasses.dataclass(frozen=True)
class BoxModes(Physics):
    """The lowest modes of −∇² on [0, side]^dims."""

    name: ClassVar[str] = "box"
    summary: ClassVar[str] = "Laplacian on a box with fixed, free or periodic faces, against the closed form"

    n: int = 6
    """Number of modes."""
    dims: int = 2
    """Number of dimensions."""
    side: float = 1.0
    """Length of each side."""
    boundary: str = "dirichlet"
    """At the faces: dirichlet (zero), neumann (no slope) or periodic; dirichlet,periodic for each axis;
    dirichlet:neumann for each face of one."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("dims")
        self.check_positive("side")
        parse_boundaries(self.boundary, self.dims)

    def operator(self) -> "Operator":
        """−∇²."""
        import eigenax

        return -eigenax.Laplacian()

    def domain(self) -> "Box":
        """[0, side]^dims."""
        import eigenax

        return eigenax.Box(0.0, self.side, dims=self.dims, boundary=parse_boundaries(self.boundary, self.dims))

    def exact(self) -> "np.ndarray":
        """Σ (π kᵢ / side)² with the wave numbers kᵢ that the boundary allows."""
        from eigenax.lab.spectra.box import box_energies

        return box_energies(self.n, [self.side] * self.dims, parse_boundaries(self.boundary, self.dims))

"""The Laplacian on a box: a particle between walls, a drum, a ring."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar, Literal

from eigenax.experiments.physics import Physics

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
    boundary: Literal["zero", "free", "periodic"] = "zero"
    """What functions do at the faces: be zero, be free (of zero slope), or go on at the opposite face."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("dims")
        self.check_positive("side")

    def operator(self) -> "Operator":
        """−∇²."""
        import eigenax

        return -eigenax.Laplacian()

    def domain(self) -> "Box":
        """[0, side]^dims."""
        import eigenax

        return eigenax.Box(0.0, self.side, dims=self.dims, boundary=self.boundary)

    def exact(self) -> "np.ndarray":
        """Σ (π kᵢ / side)²."""
        from eigenax.evaluation.box import box_energies

        return box_energies(self.n, [self.side] * self.dims, self.boundary)

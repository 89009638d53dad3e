"""Double wells on each of any number of axes; on a line, pairs of states that tunnelling splits."""

import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any, ClassVar

from eigenax.lab.experiments.many_dimensions import Vibrations

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Array
    from matplotlib.figure import Figure

    from eigenax.domains.box import Box
    from eigenax.lab.polynomial import Polynomial
    from eigenax.modes import Modes
    from eigenax.operators.base import Operator

MARGIN, MARGIN_OF_MANY = 3.0, 2.0
"""Distance between the outermost turning point and the wall in units of a^(−1/6), on a line and in more dimensions."""
ROTATED_FUNCTIONS = 10_000
"""Largest basis of the classical method for rotated wells, whose matrix is nearly full."""
MOST_QUANTA = 120
"""Largest number of quanta times dimensions: enough for six digits or more in few dimensions."""


@dataclasses.dataclass(frozen=True)
class DoubleWell(Vibrations):
    """The lowest states of −∇² + a Σ (x_i² − b²)², or of a Σ ((Qx)_i² − b²)² with a fixed random rotation Q."""

    name: ClassVar[str] = "double-well"
    summary: ClassVar[str] = "two wells side by side on each axis, also rotated, against a spectral method"
    kinetic: ClassVar[float] = 1.0

    n: int = 6
    """Number of modes."""
    dims: int = 1
    """Number of dimensions."""
    rotated: bool = False
    """Turn the wells away from the axes, so that no axis is independent of the others; the levels stay the same."""
    a: float = 0.0
    """Steepness of the wells; the barrier between two is a b⁴ high. 0: 1 on a line, 2 in more dimensions."""
    b: float = 0.0
    """Distance of each well from the middle. 0: 2 on a line, 1 in more dimensions."""
    half_width: float = 0.0
    """Half the side of the box; 0: wide enough for the states asked for."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        self.check_at_least_one("dims")
        super().check()
        self.check_not_negative("a", "b", "half_width")
        if self.rotated and self.dims == 1:
            raise ValueError("--rotated needs at least 2 dimensions (--dims); got 1")

    @property
    def steepness(self) -> float:
        """`a`, or what is usual."""
        return self.a or (1.0 if self.dims == 1 else 2.0)

    @property
    def place(self) -> float:
        """`b`, or what is usual."""
        return self.b or (2.0 if self.dims == 1 else 1.0)

    @functools.cached_property
    def rotation(self) -> "np.ndarray":
        """Q: the unit matrix, or a rotation that is random but always the same."""
        import numpy as np

        if not self.rotated:
            return np.eye(self.dims)
        q, r = np.linalg.qr(np.random.default_rng(0).normal(size=(self.dims, self.dims)))
        q = q * np.sign(np.diag(r))  # each rotation and reflection as likely as any other
        q[0] *= np.sign(np.linalg.det(q))
        return q

    def on_axis(self, x: "Array") -> "Array":
        """a (x² − b²)² of one coordinate, for x of shape (1,)."""
        return self.steepness * (x[0] ** 2 - self.place**2) ** 2

    def potential(self, x: "Array") -> "Array":
        """a Σ ((Qx)_i² − b²)²."""
        import jax.numpy as jnp
        from jax.lax import Precision

        turned = jnp.dot(self.rotation.astype(x.dtype), x, precision=Precision.HIGHEST) if self.rotated else x
        return self.steepness * jnp.sum((turned**2 - self.place**2) ** 2)

    def operator(self) -> "Operator":
        """−∇² + a Σ ((Qx)_i² − b²)²."""
        import eigenax

        return -eigenax.Laplacian() + eigenax.Potential(self.potential)

    def polynomial(self) -> "Polynomial":
        """V as a sum of terms."""
        from eigenax.lab.polynomial import Polynomial

        def number(value: float) -> Polynomial:
            return Polynomial.of([(value, ())], self.dims)

        total = number(0.0)
        for row in self.rotation:
            axis = Polynomial.of([(float(q), (j,)) for j, q in enumerate(row) if q], self.dims)
            away = axis * axis + number(-(self.place**2))
            total += number(self.steepness) * away * away
        return total

    @property
    def reach(self) -> float:
        """Half the length of a well's axis: `half_width`, or where the last state asked for has decayed.

        Its energy along the axis is bounded by that in the higher potential a x⁴ + a b⁴, which Bohr–Sommerfeld
        quantisation gives. In several dimensions, n states need fewer along each axis.
        """
        a, b = self.steepness, self.place
        states = next(m for m in range(1, self.n + 1) if math.comb(m - 1 + self.dims, self.dims) >= self.n)
        energy = a * b**4 + a ** (1 / 3) * (2.185 * (states - 0.5)) ** (4 / 3)
        turning = math.sqrt(b**2 + math.sqrt(energy / a))
        return self.half_width or turning + (MARGIN if self.dims == 1 else MARGIN_OF_MANY) * a ** (-1 / 6)

    def domain(self) -> "Box":
        """The box ±reach, or one that the rotated cube of wells fits into.

        The wells are the corners (±b, …, ±b) of a cube, which reach b Σ_j |Q_ji| along axis i after the rotation. From
        the outermost corner, a state decays along any direction as it does along the axis of a well.
        """
        import numpy as np

        import eigenax

        if not self.rotated or self.half_width:
            return eigenax.Box(-self.reach, self.reach, dims=self.dims)
        widths = self.place * np.abs(self.rotation).sum(0) + self.reach - self.place
        return eigenax.Box((-widths).tolist(), widths.tolist())

    def exact(self) -> "np.ndarray":
        """Sums of the energies on a line, by a spectral method that is converged to nearly the last digit."""
        import numpy as np

        from eigenax.lab.spectra.line import line_energies
        from eigenax.lab.spectra.sums import smallest_sums

        return smallest_sums(np.tile(line_energies(self.on_axis, -self.reach, self.reach, self.n), (self.dims, 1)))

    def usual_quanta(self) -> int:
        """As many as a limit of functions allows, since the wells have no hole that many quanta could fall into."""
        from eigenax.lab.baselines.vibrational_ci import FUNCTIONS, QUANTA, usual_quanta

        most = max(QUANTA, MOST_QUANTA // self.dims)
        return usual_quanta(self.dims, self.n, ROTATED_FUNCTIONS if self.rotated else FUNCTIONS, most)

    def figures(self, modes: "Modes", metrics: list[dict[str, Any]]) -> "dict[str, tuple[Figure, str]]":
        """On a line, the curves first."""
        found = super().figures(modes, metrics)
        return found if self.dims > 1 else dict(reversed(found.items()))

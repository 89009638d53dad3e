"""Cosine potentials on a torus of many dimensions."""

import abc
import dataclasses
import math
from typing import TYPE_CHECKING, ClassVar

from eigenax.lab.experiments.many_dimensions import ManyDimensions

if TYPE_CHECKING:
    import numpy as np

    from eigenax.domains.box import Box
    from eigenax.operators.base import Operator


@dataclasses.dataclass(frozen=True)
class Cosines(ManyDimensions):
    """−∇² + Σ c_i cos(waves x_i) on the torus [0, 2π]^dims."""

    waves: ClassVar[int] = 1
    """Periods of each cosine on its axis."""

    dims: int = 5
    """Number of dimensions."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("dims")

    @property
    @abc.abstractmethod
    def amplitudes(self) -> list[float]:
        """The c_i."""

    def operator(self) -> "Operator":
        """−∇² + Σ c_i cos(waves x_i)."""
        import jax.numpy as jnp

        import eigenax

        c, waves = self.amplitudes, self.waves
        return -eigenax.Laplacian() + eigenax.Potential(lambda x: jnp.sum(jnp.asarray(c, x.dtype) * jnp.cos(waves * x)))

    def domain(self) -> "Box":
        """The torus [0, 2π]^dims."""
        import eigenax

        return eigenax.Box(0.0, 2 * math.pi, dims=self.dims, boundary="periodic")

    def exact(self) -> "np.ndarray":
        """Sums of the eigenvalues of Mathieu's equation on each axis."""
        from eigenax.lab.spectra.cosines import cosine_energies

        return cosine_energies(self.n, self.amplitudes, self.waves)


@dataclasses.dataclass(frozen=True)
class TorusCosines(Cosines):
    """The lowest levels of −∇² + amplitude Σ cos x_i on the torus [0, 2π]^dims."""

    name: ClassVar[str] = "torus-cosines"
    summary: ClassVar[str] = "a cosine on each axis of a torus, against Mathieu's equation"

    n: int = 6
    """Number of modes."""
    amplitude: float = 1.0
    """Height of the cosines."""

    @property
    def amplitudes(self) -> list[float]:
        """The same on each axis."""
        return [self.amplitude] * self.dims


@dataclasses.dataclass(frozen=True)
class PeriodicDoubleWell(Cosines):
    """The lowest levels of −∇² + 1.5 cos 2x₁ + 0.2 Σ_{i>1} cos 2x_i on the torus [0, 2π]^dims."""

    name: ClassVar[str] = "periodic-double-well"
    summary: ClassVar[str] = "the periodic double well of Han, Lu and Zhou, against Mathieu's equation"
    waves: ClassVar[int] = 2

    n: int = 3
    """Number of modes."""
    dims: int = 10
    """Number of dimensions."""

    @property
    def amplitudes(self) -> list[float]:
        """1.5 on the first axis, 0.2 on the others."""
        return [1.5] + [0.2] * (self.dims - 1)

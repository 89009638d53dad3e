"""Inputs of a network in many dimensions, in units of the states."""

import itertools
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.rayleigh import HIGHEST
from eigenax.domains.box import Box
from eigenax.networks.boundary import BoundaryCoordinates, OffsetFrom


class ManyInputs(eqx.Module):
    """Inputs in many dimensions: whitened coordinates of open axes, then bounded ones of all other axes.

    An axis is open if both of its faces are Dirichlet. Its coordinates are turned into principal axes of the states,
    the widest first, in units of their standard deviations. A periodic axis gives a cosine and a sine, a Neumann face a
    cosine of zero slope there. Each singular point, where functions may have a cusp, gives r/(1 + r), with the distance
    r from it in units of the size of the states.

    >>> inputs = ManyInputs.of(Box(0, 1, dims=2, boundary=("dirichlet", "periodic")), np.full(2, 0.5), np.eye(2) / 4)
    >>> inputs(jnp.array([1.0, 0.25])).round(3), inputs.unbounded
    (Array([ 1., -0.,  1.], dtype=float32), 1)
    """

    mean: tuple[float, ...] = eqx.field(static=True)
    matrix: tuple[tuple[float, ...], ...] = eqx.field(static=True)
    """z = matrix @ (x − mean) of the open axes."""
    open_axes: tuple[int, ...] = eqx.field(static=True)
    bounded: Callable[[Array], Array] | None
    """The bounded coordinates of the other axes; None if there are none."""
    waves: tuple[tuple[int, float], ...] = eqx.field(static=True)
    """The axis and the wave number of each bounded coordinate."""
    cusps: tuple[OffsetFrom, ...]
    size: int = eqx.field(static=True)
    radius: float = eqx.field(static=True)
    """The size of the states, the unit of the distance from cusps."""

    @classmethod
    def of(
        cls,
        box: Box,
        mean: Float[np.ndarray, " d"],
        covariance: Float[np.ndarray, "d d"],
        singularities: tuple[tuple[float, ...], ...] = (),
    ) -> "ManyInputs":
        """For states with this mean and covariance in a box."""
        axes, others = np.flatnonzero(box.open_axes), np.flatnonzero(~box.open_axes)
        variances, directions = np.linalg.eigh(covariance[np.ix_(axes, axes)])
        matrix = (directions[:, ::-1] / np.sqrt(variances[::-1])).T
        bounded, size, waves = None, len(axes), ()
        if len(others):
            low, high = (np.asarray(face)[others].tolist() for face in (box.low, box.high))
            coordinates = BoundaryCoordinates(Box(low, high, boundary=[box.faces[axis] for axis in others]))
            bounded, size = OfAxes(tuple(others.tolist()), coordinates), size + coordinates.size
            waves = tuple((axis, number) for axis in others.tolist() for number in _wave_numbers(box, axis))
        return cls(
            tuple(mean[axes].tolist()),
            tuple(map(tuple, matrix.tolist())),
            tuple(axes.tolist()),
            bounded,
            waves,
            tuple(OffsetFrom(point, box) for point in singularities),
            size + len(singularities),
            float(np.sqrt(np.trace(covariance))),
        )

    @property
    def unbounded(self) -> int:
        """The number of whitened coordinates, which come first."""
        return len(self.open_axes)

    @property
    def sines(self) -> tuple[int, ...]:
        """Which inputs are the sine of a periodic axis, whose cosine is the input before it."""
        again = [late[0] == early[0] for early, late in itertools.pairwise(self.waves)]
        return tuple(self.unbounded + 1 + place for place in np.flatnonzero(again).tolist())

    def energies(self, diffusion: Float[np.ndarray, " d"]) -> Float[np.ndarray, " m"]:
        """About the energy of one excitation along each input but the cusps, of −D∇² with this D of each axis.

        Of an oscillator along an open axis, D/σ² is exact, as is D k² of a free wave of wave number k.
        """
        whitened = np.array(self.matrix).reshape(self.unbounded, self.unbounded) ** 2
        free = [diffusion[axis] * number**2 for axis, number in self.waves]
        return np.append(whitened @ diffusion[list(self.open_axes)], free)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " m"]:
        """The inputs of one point."""
        parts = []
        if self.open_axes:
            away = x[np.array(self.open_axes)] - jnp.asarray(self.mean, x.dtype)
            parts.append(jnp.matmul(jnp.asarray(self.matrix, x.dtype), away, precision=HIGHEST))
        if self.bounded is not None:
            parts.append(self.bounded(x))
        distances = [cusp(x)[1] / self.radius for cusp in self.cusps]
        return jnp.concatenate([*parts, *(jnp.reshape(r / (1 + r), 1) for r in distances)])


def _wave_numbers(box: Box, axis: int) -> list[float]:
    """Those of the `BoundaryCoordinates` of an axis that is not open."""
    half_turn = np.pi / (box.high[axis] - box.low[axis])
    if box.faces[axis] == ("periodic", "periodic"):
        return [2 * half_turn, 2 * half_turn]
    return [half_turn if box.faces[axis] == ("neumann", "neumann") else half_turn / 2]


class OfAxes(eqx.Module):
    """A function of some coordinates of a point.

    >>> OfAxes((1,), jnp.cos)(jnp.array([5.0, 0.0]))
    Array([1.], dtype=float32)
    """

    axes: tuple[int, ...] = eqx.field(static=True)
    function: Callable[[Array], Array]

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " m"]:
        """The function at one point."""
        return self.function(x[np.array(self.axes)])

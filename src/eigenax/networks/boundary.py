"""Boundary conditions of a box, built into functions by factors that vanish at faces and by suitable coordinates."""

import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.domains.base import Domain
from eigenax.domains.box import Box, Word


class BoxFactor(eqx.Module):
    """The paper's factor ∏_i (√(2 D_i² − y_i²) − D_i), with y measured from the centre of a box of half-widths D.

    It is zero on every face, with a finite slope there. It is normalised to one at the centre, so that the size of the
    functions does not depend on the size of the box. Just outside the box it continues smoothly, as finite differences
    need; far outside, where the square root ends, it is zero.

    >>> BoxFactor(-2.0, 2.0)(jnp.array([2.0]))
    Array(0., dtype=float32)
    """

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, low: float | Sequence[float], high: float | Sequence[float]):
        self.low, self.high = tuple(np.atleast_1d(low).tolist()), tuple(np.atleast_1d(high).tolist())

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The factor at one point."""
        low, high = jnp.asarray(self.low, x.dtype), jnp.asarray(self.high, x.dtype)
        y = (2 * x - low - high) / (high - low)
        squared = jnp.where(jnp.abs(y) < 1.4, y**2, 1.0)
        return jnp.prod((jnp.sqrt(2 - squared) - 1) / (np.sqrt(2) - 1))


class BoundaryCoordinates(eqx.Module):
    """Coordinates of which every smooth function obeys the Neumann and periodic conditions of a box.

    Dirichlet conditions need a `DirichletFactor` too. With t from 0 to 1 along an axis, the coordinates are
    cos(πt), which has no slope at either end, if both faces are Neumann; cos(πt/2) or sin(πt/2) if only the lower or
    only the upper face is; cos(2πt) and sin(2πt) if the axis is periodic; x itself if both faces are Dirichlet.

    >>> BoundaryCoordinates(Box(0, 1, dims=2, boundary=("neumann", "periodic")))(jnp.zeros(2))
    Array([1., 1., 0.], dtype=float32)
    """

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    faces: tuple[tuple[Word, Word], ...] = eqx.field(static=True)

    def __init__(self, box: Box):
        self.low, self.high, self.faces = box.low, box.high, box.faces

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return len(self.low) + self.faces.count(("periodic", "periodic"))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " m"]:
        """The coordinates of one point."""
        low, high = jnp.asarray(self.low, x.dtype), jnp.asarray(self.high, x.dtype)
        angles = jnp.pi * (x - low) / (high - low)
        columns = []
        for axis, pair in enumerate(self.faces):
            angle = angles[axis]
            columns += {
                ("dirichlet", "dirichlet"): lambda x=x[axis]: [x],
                ("neumann", "neumann"): lambda angle=angle: [jnp.cos(angle)],
                ("neumann", "dirichlet"): lambda angle=angle: [jnp.cos(angle / 2)],
                ("dirichlet", "neumann"): lambda angle=angle: [jnp.sin(angle / 2)],
                ("periodic", "periodic"): lambda angle=angle: [jnp.cos(2 * angle), jnp.sin(2 * angle)],
            }[pair]()
        return jnp.stack(columns)


class DirichletFactor(eqx.Module):
    """∏ (1 − y²) over the axes with Dirichlet faces, where y runs from −1 to 1 along each of them.

    If only one face is Dirichlet, y runs along the axis and its mirror image beyond the Neumann face: the factor has no
    slope at that face.

    >>> DirichletFactor(Box(0, 1, dims=2, boundary=("dirichlet", "neumann")))(jnp.array([0.5, 0.0]))
    Array(1., dtype=float32)
    """

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    closed: tuple[bool, ...] = eqx.field(static=True)

    def __init__(self, box: Box):
        self.closed = tuple("dirichlet" in pair for pair in box.faces)
        axes = list(zip(box.low, box.high, box.faces, strict=True))
        self.low = tuple(2 * low - high if pair == ("neumann", "dirichlet") else low for low, high, pair in axes)
        self.high = tuple(2 * high - low if pair == ("dirichlet", "neumann") else high for low, high, pair in axes)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The factor at one point."""
        low, high = jnp.asarray(self.low, x.dtype), jnp.asarray(self.high, x.dtype)
        y = (2 * x - low - high) / (high - low)
        # Finite differences need a smooth continuation just outside the box; far outside the factor is zero.
        factors = jnp.where(jnp.abs(y) < 1.4, 1 - y**2, 0)
        return jnp.prod(jnp.where(jnp.asarray(self.closed), factors, 1))


class ThinDirichletFactor(eqx.Module):
    """∏ tanh(s / width) over the Dirichlet faces, s being the distance from each: one wherever faces are far away.

    With states of about the size `widths` along each axis, the factor leaves those untouched that do not come near a
    face. An axis with one Dirichlet face has its mirror image beyond the Neumann face, as in `DirichletFactor`.

    >>> round(float(ThinDirichletFactor(Box(-6, 6), (1.0,))(jnp.zeros(1))), 4)
    1.0
    """

    within: DirichletFactor
    widths: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, box: Box, widths: Sequence[float]):
        self.within, self.widths = DirichletFactor(box), tuple(float(width) for width in widths)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The factor at one point."""
        low, high, widths = (jnp.asarray(part, x.dtype) for part in (self.within.low, self.within.high, self.widths))
        factors = jnp.tanh((x - low) / widths) * jnp.tanh((high - x) / widths)
        return jnp.prod(jnp.where(jnp.asarray(self.within.closed), factors, 1))


class OffsetFrom(eqx.Module):
    """Offset y and distance r from a point of a box to x; both obey its boundary as `BoundaryCoordinates` do.

    Near the point, y is smooth and r is the length of x − point, so that functions of r have the same cusp as functions
    of that length. Without a box, or along axes with Dirichlet faces only, y is x − point everywhere.

    >>> y, r = OffsetFrom((0.5,), Box(0, 1, boundary="periodic"))(jnp.array([1.0]))
    >>> round(float(y[0]), 6), round(float(r), 6)  # the point opposite: half a turn of a circle of length one
    (-0.0, 0.31831)
    """

    point: tuple[float, ...] = eqx.field(static=True)
    box: Box | None = None

    def __call__(self, x: Float[Array, " d"]) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """The offset y and the distance r at one point x."""
        if self.box is None or set(self.box.boundary) == {"dirichlet"}:
            y = x - jnp.asarray(self.point, x.dtype)
            return y, jnp.sqrt(jnp.sum(y**2))
        axes = zip(x, self.point, self.box.low, self.box.high, self.box.faces, strict=True)
        y, squares = zip(*(_along_axis(*axis) for axis in axes), strict=True)
        return jnp.stack(y), jnp.sqrt(sum(squares))


def _along_axis(
    x: Float[Array, ""], point: float, low: float, high: float, faces: tuple[Word, Word]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The offset and the squared distance from a point along one axis."""
    width, at = high - low, (point - low) / (high - low)
    if faces == ("periodic", "periodic"):
        return _sine_offset(x - point, width / 2), _squared_chord(x - point, width / 2)
    if "neumann" not in faces or not 0 <= at <= 1:
        return x - point, (x - point) ** 2
    if faces == ("neumann", "neumann"):
        # The axis and its mirror image form a circle. Near a face the point and its own image merge.
        y = (math.cos(math.pi * at) - jnp.cos(jnp.pi * (x - low) / width)) * width / math.pi
        near, mirrored = _squared_chord(x - point, width), _squared_chord(x - 2 * low + point, width)
        square = near * mirrored / (near + mirrored) if 0 < at < 1 else near
        return y / max(math.sin(math.pi * at), 0.5), square
    face = low if faces[0] == "neumann" else high
    near, mirrored, away = (x - point) ** 2, (x - 2 * face + point) ** 2, abs(point - face)
    y = ((x - face) ** 2 - away**2) / max(2 * away, width / 3)
    return y if face == low else -y, near * mirrored / (near + mirrored) if away else near


def _sine_offset(away: Float[Array, ""], half: float) -> Float[Array, ""]:
    """A smooth periodic coordinate on a circle of circumference 2 · half; near zero it equals `away`."""
    return half / jnp.pi * jnp.sin(jnp.pi * away / half)


def _squared_chord(away: Float[Array, ""], half: float) -> Float[Array, ""]:
    """The squared chord between points that are `away` apart along a circle of circumference 2 · half."""
    return (2 * half / jnp.pi * jnp.sin(jnp.pi * away / (2 * half))) ** 2


def coordinates_of(domain: Domain) -> Callable[[Array], Array]:
    """Coordinates of a domain: smooth functions of them are smooth on it and obey all but its Dirichlet conditions."""
    return BoundaryCoordinates(domain.box) if domain.embedding is None else domain.embedding


def dirichlet_factor_of(domain: Domain) -> DirichletFactor | None:
    """The factor that is zero on the Dirichlet faces of a domain; None if it has no such faces."""
    return DirichletFactor(domain.box) if any("dirichlet" in pair for pair in domain.faces) else None

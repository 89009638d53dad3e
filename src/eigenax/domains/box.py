"""A box, and the boundary conditions at its faces."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from eigenax.checks import as_vector
from eigenax.domains.base import Domain

Word = Literal["dirichlet", "neumann", "periodic"]
Boundary = Word | tuple[Word, Word]
"""The boundary condition at both faces of an axis, or a pair: the one at its lower face and the one at its upper."""


class Box(Domain):
    """The box [low, high].

    Give each bound as one number per axis, or as a number for all of `dims` axes. `boundary` is the condition that
    functions obey at the faces under a differential operator: "dirichlet" (they vanish), "neumann" (their normal
    derivative vanishes) or "periodic". Give one word for all axes, or a list with one entry for each axis, which is a
    word, or a pair of words for its lower and its upper face. Eigenfunctions found on a box are orthonormal under the
    uniform probability on it: divide them by √volume for ∫ v² dx = 1.

    >>> Box(-50.0, 50.0, dims=2).shape
    (2,)
    >>> Box([0, 0, 0], [1, 2, 3]).volume
    6.0
    >>> Box(0, 1, dims=2, boundary=("dirichlet", "periodic")).boundary
    ('dirichlet', 'periodic')
    >>> Box(0, 1, boundary=[("dirichlet", "neumann")]).faces
    (('dirichlet', 'neumann'),)
    """

    low: tuple[float, ...] = eqx.field(static=True)
    high: tuple[float, ...] = eqx.field(static=True)
    boundary: tuple[Boundary, ...] = eqx.field(static=True)

    def __init__(
        self,
        low: float | Sequence[float],
        high: float | Sequence[float],
        dims: int | None = None,
        boundary: Word | Sequence[Boundary] = "dirichlet",
    ):
        if dims is not None and dims < 1:
            raise ValueError(f"dims must be at least 1; got {dims}")
        sizes = {np.size(bound) for bound in (low, high) if np.ndim(bound)}
        if dims is None and len(sizes) == 1:
            dims = sizes.pop()
        self.low, self.high = as_vector(low, dims, "low"), as_vector(high, dims, "high")
        if not self.low:
            raise ValueError("a box needs at least one axis; got empty bounds")
        if len(self.low) != len(self.high):
            raise ValueError(f"low has {len(self.low)} axes and high has {len(self.high)}; give both alike")
        for axis, (a, b) in enumerate(zip(self.low, self.high, strict=True)):
            if not (np.isfinite(a) and np.isfinite(b) and a < b):
                raise ValueError(f"a box needs finite low < high on every axis; axis {axis} has low {a}, high {b}")
        self.boundary = _boundary_per_axis(boundary, len(self.low))

    @property
    def box(self) -> "Box":  # pyright: ignore[reportIncompatibleVariableOverride]
        """The box itself: a point is its own parameters."""
        return self

    @property
    def uniform_density(self) -> "Box":
        """The box itself, whose `density` is uniform."""
        return self

    @property
    def embedding(self) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """None: a box is flat."""

    @property
    def faces(self) -> tuple[tuple[Word, Word], ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The boundary conditions at the lower and at the upper face of each axis."""
        return tuple((each, each) if isinstance(each, str) else each for each in self.boundary)

    @property
    def open_axes(self) -> Bool[np.ndarray, " d"]:
        """Which axes have Dirichlet conditions at both faces: functions decay there, and need no special coordinate."""
        return np.array([pair == ("dirichlet", "dirichlet") for pair in self.faces])

    @property
    def periodic_axes(self) -> Bool[np.ndarray, " d"]:
        """Which axes are periodic."""
        return np.array([pair == ("periodic", "periodic") for pair in self.faces])

    @property
    def centre(self) -> Float[np.ndarray, " d"]:
        """The middle of the box."""
        return (np.asarray(self.high) + np.asarray(self.low)) / 2

    @property
    def half_width(self) -> Float[np.ndarray, " d"]:
        """Half the length of each side."""
        return (np.asarray(self.high) - np.asarray(self.low)) / 2

    @property
    def volume(self) -> float:
        """The product of the sides."""
        return float(np.prod(2 * self.half_width))

    def density(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """1 / volume inside, zero outside."""
        return self.contains(x) / self.volume

    def contains(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """One inside, zero outside."""
        inside = (x >= jnp.asarray(self.low, x.dtype)) & (x <= jnp.asarray(self.high, x.dtype))
        return inside.all(-1).astype(x.dtype)

    def icdf(self, uniform: Float[Array, "b d"]) -> Float[Array, "b d"]:
        """Turn numbers between 0 and 1 into points of the box."""
        low, high = jnp.asarray(self.low, uniform.dtype), jnp.asarray(self.high, uniform.dtype)
        return low + uniform * (high - low)

    def importance_weights(self, x: Float[Array, "b d"]) -> Float[Array, " b"]:
        """One for each point, which is uniform already."""
        return jnp.ones(len(x), x.dtype)


def _boundary_per_axis(boundary: Word | Sequence[Boundary], dims: int) -> tuple[Boundary, ...]:
    each = (boundary,) * dims if isinstance(boundary, str) else tuple(boundary)
    if len(each) != dims:
        raise ValueError(
            f"boundary must be one word, or one for each of {dims} axes; got {len(each)}. A pair "
            'in the place of a word, as in [("dirichlet", "neumann")], sets the two faces of an axis apart'
        )
    return tuple(_boundary_of_axis(given) for given in each)


def _boundary_of_axis(given: Any) -> Boundary:
    """One word if both faces have the same condition, else a pair of words."""
    pair: Any = tuple(given) if isinstance(given, list | tuple) else (given, given)
    for word in pair:
        if word not in get_args(Word):
            raise ValueError(f"boundary must be 'dirichlet', 'neumann' or 'periodic'; got {word!r}")
    if len(pair) != 2 or ("periodic" in pair and pair[0] != pair[1]):
        raise ValueError(
            "boundary of an axis must be one word, or two for its lower and its upper face, both of them 'periodic' or "
            f"none; got {given!r}"
        )
    return pair[0] if pair[0] == pair[1] else pair

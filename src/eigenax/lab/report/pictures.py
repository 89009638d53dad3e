"""Values of modes to draw, on a line or in a plane, in the part of the domain where they are not negligible."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.domains.base import Domain
from eigenax.domains.box import Box
from eigenax.lab.report.alignment import square
from eigenax.modes import Modes

PIXELS = 96
"""Pixels on each side of a picture: an even number, so that none is at the centre, where V may be infinite."""
LINE = 600
"""Number of points of a curve."""
EMPTY = 3e-3
"""A point is empty where the square of every mode is below this share of its maximum."""
LOOKS = 4
"""How often the window is narrowed."""


class Plane(NamedTuple):
    """Values of all modes on a plane."""

    images: Float[np.ndarray, "n p p"]
    """The first axis goes up, the second one right."""
    extent: tuple[float, float, float, float]
    """Coordinates of the edges: left, right, bottom, top."""

    @property
    def aspect(self) -> float:
        """Width over height."""
        left, right, bottom, top = self.extent
        return abs((right - left) / (top - bottom))


def window(modes: Modes, box: Box, axes: int) -> list[tuple[float, float]]:
    """The interval on each of the first axes outside of which all modes are negligible, found by repeated narrowing."""
    low, high = np.asarray(box.low[:axes]), np.asarray(box.high[:axes])
    for _ in range(LOOKS):
        lines = [np.linspace(a, b, PIXELS) for a, b in zip(low, high, strict=True)]
        squares = _values(modes, box, lines) ** 2
        full = (squares > EMPTY * squares.max(tuple(range(axes)))).any(-1)
        for axis, line in enumerate(lines):
            there = line[full.any(tuple(other for other in range(axes) if other != axis))]
            room = 0.06 * (there[-1] - there[0]) + line[1] - line[0]
            low[axis] = max(box.low[axis], there[0] - room)
            high[axis] = min(box.high[axis], there[-1] + room)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def on_line(modes: Modes, box: Box) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p n"]]:
    """Positions on the first axis, and the modes there."""
    ((low, high),) = window(modes, box, 1)
    line = np.linspace(low, high, LINE)
    return line, _values(modes, box, [line])


def on_plane(modes: Modes, domain: Domain) -> Plane:
    """The modes over the parameters of a surface, or on the plane of the first two axes through the centre of a box."""
    box = domain.box
    if domain.embedding is not None:
        up, right = ((a, b) for a, b in zip(box.low, box.high, strict=True))
        values = _values(modes, box, [_middles(*up), _middles(*right)])
        return Plane(np.moveaxis(values, -1, 0)[:, ::-1], (*right, up[1], up[0]))
    right, up = window(modes, box, 2)
    values = _values(modes, box, [_middles(*right), _middles(*up)])
    return Plane(np.moveaxis(values, -1, 0).swapaxes(1, 2), (*right, *up))


def _middles(low: float, high: float) -> Float[np.ndarray, " p"]:
    return low + (high - low) * (np.arange(PIXELS) + 0.5) / PIXELS


def _values(modes: Modes, box: Box, lines: list[Float[np.ndarray, " p"]]) -> Float[np.ndarray, "*p n"]:
    """The modes at all combinations of positions on the first axes, and at the centre of the others."""
    place = square(*lines) if len(lines) == 2 else lines[0][:, None]
    rest = np.broadcast_to(box.centre[len(lines) :], (*place.shape[:-1], len(box.low) - len(lines)))
    return np.asarray(modes(np.concatenate([place, rest], -1)), float)

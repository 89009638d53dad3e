"""Values of modes to draw, on a line or in a plane, in the part of the domain where they are not negligible."""

from collections.abc import Sequence
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
    axes: tuple[int, int] = (0, 1)
    """The coordinates that are drawn to the right and upwards."""

    @property
    def aspect(self) -> float:
        """Width over height."""
        left, right, bottom, top = self.extent
        return abs((right - left) / (top - bottom))


def window(modes: Modes, box: Box, axes: Sequence[int]) -> list[tuple[float, float]]:
    """The interval on each of these axes outside of which all modes are negligible, found by repeated narrowing."""
    ends = [(box.low[axis], box.high[axis]) for axis in axes]
    low, high = (np.array(each) for each in zip(*ends, strict=True))
    for _ in range(LOOKS):
        lines = [np.linspace(a, b, PIXELS) for a, b in zip(low, high, strict=True)]
        squares = _values(modes, box, lines, axes) ** 2
        full = (squares > EMPTY * squares.max(tuple(range(len(lines))))).any(-1)
        for k, line in enumerate(lines):
            there = line[full.any(tuple(other for other in range(len(lines)) if other != k))]
            room = 0.06 * (there[-1] - there[0]) + line[1] - line[0]
            low[k] = max(ends[k][0], there[0] - room)
            high[k] = min(ends[k][1], there[-1] + room)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def on_line(modes: Modes, box: Box) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p n"]]:
    """Positions on the first axis, and the modes there."""
    ((low, high),) = window(modes, box, [0])
    line = np.linspace(low, high, LINE)
    return line, _values(modes, box, [line], [0])


def on_plane(modes: Modes, domain: Domain) -> Plane:
    """The modes over the parameters of a surface, or on a plane of two axes through the centre of a box."""
    box = domain.box
    if domain.embedding is not None:
        up, right = ((a, b) for a, b in zip(box.low, box.high, strict=True))
        values = _values(modes, box, [_middles(*up), _middles(*right)], [0, 1])
        return Plane(np.moveaxis(values, -1, 0)[:, ::-1], (*right, up[1], up[0]))
    axes = liveliest_axes(modes, box)
    right, up = window(modes, box, axes)
    values = _values(modes, box, [_middles(*right), _middles(*up)], axes)
    return Plane(np.moveaxis(values, -1, 0).swapaxes(1, 2), (*right, *up), axes)


def liveliest_axes(modes: Modes, box: Box) -> tuple[int, int]:
    """The two axes along which, through the centre of the box, the modes change most; the first two if others hardly do
    so more.

    Of many axes the first two may be stiff ones, along which none of the modes is excited.
    """
    if len(box.low) == 2:
        return 0, 1
    changes = []
    for axis, ends in enumerate(zip(box.low, box.high, strict=True)):
        values = _values(modes, box, [np.linspace(*ends, LINE)], [axis])
        changes.append(np.abs(values - values.mean(0)).max(0))
    of_each = np.array(changes)
    scores = (of_each / np.maximum(of_each.max(0), np.finfo(float).tiny)).mean(1).round(1)
    first, second = sorted(np.argsort(-scores, kind="stable")[:2].tolist())
    return first, second


def _middles(low: float, high: float) -> Float[np.ndarray, " p"]:
    return low + (high - low) * (np.arange(PIXELS) + 0.5) / PIXELS


def _values(
    modes: Modes, box: Box, lines: list[Float[np.ndarray, " p"]], axes: Sequence[int]
) -> Float[np.ndarray, "*p n"]:
    """The modes at all combinations of positions on these axes, and at the centre of the others."""
    place = square(*lines) if len(lines) == 2 else lines[0][:, None]
    points = np.broadcast_to(box.centre, (*place.shape[:-1], len(box.low))).copy()
    points[..., list(axes)] = place
    return np.asarray(modes(points), float)

"""The figure of a solved problem: its modes, the errors of their eigenvalues, and the residuals of each basis tried."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from jaxtyping import Array, Float
from matplotlib.figure import Figure

from eigenax.domains.base import Domain
from eigenax.lab.baselines.grid import GridModes
from eigenax.lab.report.alignment import grid_lines, onto_grid
from eigenax.lab.report.curves import draw_curves
from eigenax.lab.report.pictures import Plane, on_line, on_plane
from eigenax.lab.report.quality import draw_errors, draw_levels, draw_residuals
from eigenax.lab.report.style import DIVERGING, INK, STYLE, new_figure
from eigenax.modes import Modes
from eigenax.operators.base import Operator
from eigenax.operators.potential import Potential

WIDTH = 8.2
"""Width of the figure in inches."""
BOTTOM = 2.5
"""Height of its last row in inches."""
TITLE = 0.42
"""Height of a title in inches."""
CURVES = 3.2
"""Height of a panel of curves in inches."""
SHOWN = 18
"""Largest number of modes that are drawn."""
NARROWEST, WIDEST = 0.5, 2.0
"""Limits of an image's width over its height; domains beyond them are drawn distorted."""


class Row(NamedTuple):
    """A row of images, each with a label, below a title, which may be empty."""

    title: str
    images: Float[np.ndarray, "n p q"]
    labels: list[str]


def draw(
    operator: Operator,
    domain: Domain,
    modes: Modes,
    exact: Float[np.ndarray, " n"] | None,
    metrics: list[dict[str, Any]],
    grid: GridModes | None = None,
) -> tuple[Figure, str]:
    """The figure and its caption; in two dimensions the modes of a grid may be drawn above the learned ones."""
    letters = iter("abcdef")
    with mpl.rc_context(STYLE):
        if domain.shape == (1,) and domain.embedding is None:
            figure = new_figure(WIDTH, CURVES + BOTTOM)
            halves: Any = figure.subfigures(2, 1, height_ratios=[CURVES, BOTTOM], hspace=0.02)
            top, bottom = halves
            x, values = on_line(modes, domain.box)
            title = f"({next(letters)}) modes at the heights of their eigenvalues"
            draw_curves(top.subplots(), title, x, values, modes.eigenvalues, potential_of(operator))
            caption = f"The modes{' and the potential (grey)' if potential_of(operator) else ''}"
        else:
            plane = on_plane(modes, domain)
            rows = _with_grid(plane, modes, domain, grid, exact, letters) if grid else _in_rows(plane, modes, letters)
            figure, bottom = _draw_rows(rows, plane)
            caption = _caption_of_plane(domain, plane) + (
                " Learned modes of one shell are rotated to match the grid's." * bool(grid)
            )
        left, right = bottom.subplots(1, 2)
        if exact is None:
            draw_levels(left, f"({next(letters)}) eigenvalues", modes)
        else:
            draw_errors(left, f"({next(letters)}) relative errors of the eigenvalues", modes, exact)
        draw_residuals(right, f"({next(letters)}) residual norms ‖(K − λ)v‖", metrics)
    left_panel = "eigenvalues with their standard errors" if exact is None else "errors of the eigenvalues"
    return figure, f"{caption.rstrip('.')}. Below, {left_panel}, and residual norms over the rounds."


def potential_of(operator: Operator) -> Callable[[Array], Array] | None:
    """The sum of an operator's potentials, or None if it has none."""
    parts = [(factor, term.function) for factor, term in operator.terms() if isinstance(term, Potential)]
    return (lambda x: sum(factor * function(x) for factor, function in parts)) if parts else None  # pyright: ignore[reportReturnType]


def _in_rows(plane: Plane, modes: Modes, letters: Any) -> list[Row]:
    """All modes, in as few rows as remain legible."""
    shown = min(modes.n, SHOWN)
    rows = math.ceil(shown / (9 if plane.aspect < 1.5 else 6))
    columns = math.ceil(shown / rows)
    title = f"({next(letters)}) modes and their eigenvalues"
    return [
        Row(title if first == 0 else "", plane.images[first:last], _labels(modes.eigenvalues[first:last]))
        for first in range(0, shown, columns)
        for last in [min(first + columns, shown)]
    ]


def _with_grid(plane: Plane, modes: Modes, domain: Any, grid: GridModes, exact: Any, letters: Any) -> list[Row]:
    """The first modes of the grid in the same window, and the learned ones rotated to match them."""
    points, shown = grid.vectors.shape[-1], min(modes.n, 9)
    left, right, bottom, top = plane.extent
    x, y = grid_lines(domain, points)
    inside = grid.vectors[:, (x > left) & (x < right)][:, :, (y > bottom) & (y < top)]
    turned = np.tensordot(onto_grid(modes, domain, grid, exact).T, plane.images, 1)
    return [
        Row(
            f"({next(letters)}) sparse eigensolver on a {points}×{points} grid",
            inside.swapaxes(1, 2)[:shown],
            _labels(grid.eigenvalues[:shown]),
        ),
        Row(f"({next(letters)}) learned", turned[:shown], _labels(modes.eigenvalues[:shown])),
    ]


def _labels(eigenvalues: Float[np.ndarray, " n"]) -> list[str]:
    return [f"{value:.5g}" if abs(value) > 1e-6 * abs(eigenvalues).max() else "0" for value in eigenvalues]


def _draw_rows(rows: list[Row], plane: Plane) -> tuple[Figure, Any]:
    """Draw rows of images; return the figure, and the empty part of it below them."""
    columns = max(6 if plane.aspect < 1.5 else 4, *(len(row.images) for row in rows))
    aspect = min(max(plane.aspect, NARROWEST), WIDEST)
    heights = [WIDTH / columns / aspect + 0.12 + (TITLE - 0.2) * bool(row.title) for row in rows] + [BOTTOM]
    figure = new_figure(WIDTH, sum(heights) + 0.15)
    strips: Any = figure.subfigures(len(heights), 1, height_ratios=heights, hspace=0.01)
    sizes = [np.abs(row.images) for row in rows]
    # The colour scale ends at 1.6 times the mean or beyond, or a constant mode would have the darkest colour.
    limits = [np.maximum(np.percentile(size, 99.7, axis=(1, 2)), 1.6 * size.mean((1, 2))) for size in sizes]
    for strip, row, limit in zip(strips, rows, limits, strict=False):
        if row.title:
            strip.suptitle(row.title, x=0.01, ha="left", fontsize=9, color=INK)
        # A mode that vanishes in this plane is drawn empty: scaled to its own size, it would show rounding errors.
        limit = np.maximum(limit, 0.02 * max(limit))
        for axis, image, top, label in zip(
            strip.subplots(1, columns, squeeze=False)[0],
            [*row.images, *[None] * columns],
            [*limit, *[0] * columns],
            [*row.labels, *[""] * columns],
            strict=False,
        ):
            axis.set_axis_off()
            if image is not None:
                axis.imshow(
                    image, origin="lower", cmap=DIVERGING, vmin=-top, vmax=top, interpolation="bilinear",
                    extent=(*plane.extent[:2], 0.0, (plane.extent[1] - plane.extent[0]) / aspect),
                )  # fmt: skip
                axis.set_title(label, fontsize=7, color=INK, pad=2)
    return figure, strips[-1]


def _caption_of_plane(domain: Domain, plane: Plane) -> str:
    if domain.embedding is not None:
        return "Modes over the two angles, the first one downwards (red positive, blue negative)."
    left, right, bottom, top = plane.extent
    rest = domain.shape[0] - 2
    middle = f" through the middle of the other {'axis' if rest == 1 else f'{rest} axes'}"
    which = f" of axes {plane.axes[0] + 1} and {plane.axes[1] + 1}" if plane.axes != (0, 1) else ""
    through = f"{which}{middle}" if rest else ""
    return (
        f"Modes in the plane [{left:.3g}, {right:.3g}] × [{bottom:.3g}, {top:.3g}]{through} "
        f"(red positive, blue negative{'; empty where a mode is zero in this plane' if rest else ''})."
    )

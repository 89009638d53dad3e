"""Figures of grid worlds: learned and exact modes, and how well they match."""

from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from eigenax.lab.datasets.gridworlds import Grid
from eigenax.lab.report.style import DIVERGING, GREY, INK, STYLE, new_figure

SHOWN = 12
"""Largest number of modes that are drawn."""
COLUMNS = 6
"""Modes in a row of the figure."""
WIDTH = 8.2
"""Width of the figures in inches."""
ROUNDING = 1e-12
"""Errors below this are rounding errors of float64."""


def draw_modes(
    grid: Grid,
    exact: Float[np.ndarray, "cells n"],
    learned: Float[np.ndarray, "cells n"],
    exact_values: Float[np.ndarray, " m"],
    values: Float[np.ndarray, " n"],
) -> tuple[Figure, str]:
    """The first modes as heat maps, learned above exact."""
    n, (height, width) = min(SHOWN, learned.shape[1]), grid.free.shape
    columns, strips = min(n, COLUMNS), -(-n // COLUMNS)
    size = WIDTH / COLUMNS
    with mpl.rc_context(STYLE):
        figure = new_figure(size * columns + 0.5, strips * (2 * size * height / width + 0.55))
        axes: Any = figure.subplots(2 * strips, columns, squeeze=False)
        for axis in axes.ravel():
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
        for k in range(n):
            strip, column = divmod(k, COLUMNS)
            limit = np.nanmax(np.abs(exact[:, k])) or 1.0
            for row, part, value in ((0, learned[:, k], values[k]), (1, exact[:, k], exact_values[k])):
                axis = axes[2 * strip + row, column]
                axis.set_facecolor("#d5d9de")
                axis.imshow(grid.picture(part), cmap=DIVERGING, vmin=-limit, vmax=limit, interpolation="nearest")
                axis.set_title(f"{value:.5f}" if abs(value) > 5e-6 else "0", fontsize=7, color=INK, pad=2)
        for strip in range(strips):
            for row, name in enumerate(("learned", "exact")):
                axes[2 * strip + row, 0].set_ylabel(name, fontsize=8, color=GREY)
    more = f" The first {n} of {learned.shape[1]}." if learned.shape[1] > n else ""
    return figure, (
        "Learned modes and, below each, the exact eigenvector of the graph, with their eigenvalues (red positive, blue "
        f"negative, walls grey).{more} Learned modes of equal eigenvalues are turned towards the exact ones."
    )


def draw_cosines(cosines: Float[np.ndarray, " n"], errors: Float[np.ndarray, " n"]) -> tuple[Figure, str]:
    """The distance of each mode and each eigenvalue from the exact one."""
    modes = np.arange(1, len(cosines) + 1)
    with mpl.rc_context(STYLE):
        figure = new_figure(WIDTH, 2.4)
        axes: Any = figure.subplots(1, 2)
        for axis, shown, label in (
            (axes[0], 1 - cosines, "1 − |cosine|"),
            (axes[1], errors, "error of the eigenvalue"),
        ):
            axis.plot(modes, np.maximum(shown, ROUNDING), "o", color=INK, markersize=3.5)
            axis.set(yscale="log", xlabel="mode", ylabel=label, ylim=(ROUNDING / 3, max(1e-2, 3 * shown.max())))
            axis.axhline(5e-4 if shown is not errors else 1e-3, color=GREY, linewidth=0.8, linestyle=":")
    return figure, (
        "Left, how far each mode is from the exact eigenvector; right, the relative error of its eigenvalue (absolute "
        "for zero). Dotted: a cosine of 0.9995 and an error of 0.1 %. Values below "
        f"{ROUNDING:g} are rounding errors and drawn there."
    )

"""The paper's hydrogen figure: modes on a grid and learned, and eigenvalues during training."""

from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eigenax.domains.box import Box
from eigenax.lab.baselines.grid import GridModes
from eigenax.lab.report.alignment import onto_grid, square
from eigenax.lab.report.style import DIVERGING, GREY, INK, SEQUENCE, STYLE, new_figure
from eigenax.lab.scores.spectrum import relative_errors
from eigenax.lab.spectra.hydrogen import energies
from eigenax.modes import Modes

PIXELS = 96
"""Pixels on each side of an image of a learned mode."""
SHOWN = 9
"""Largest number of modes that are drawn; all of them are in the table."""


class Panels(NamedTuple):
    """What the figure is drawn from."""

    box: Box
    grid: GridModes
    learned: Modes
    metrics: list[dict[str, Any]]
    label: str
    """The averaging rate β of the bias correction, such as β = 0.01."""
    uncorrected: Modes | None = None
    uncorrected_metrics: list[dict[str, Any]] | None = None


def draw(panels: Panels) -> dict[str, tuple[Figure, str]]:
    """The figure and its caption."""
    with mpl.rc_context(STYLE):
        rows = _mode_rows(panels)
        heights = [1.12] * len(rows) + [2.3]
        figure = new_figure(8.2, 0.2 + sum(heights))
        strips: Any = figure.subfigures(len(heights), 1, height_ratios=heights, hspace=0.01)
        letters = iter("abcdefgh")
        for strip, (title, images) in zip(strips, rows, strict=False):
            _draw_row(strip, f"({next(letters)}) {title}", images[:SHOWN])
        if panels.uncorrected_metrics is None:
            title = f"({next(letters)}) relative errors of the eigenvalues in training"
            _draw_errors(strips[-1].subplots(), title, panels.metrics)
        else:
            left, right = strips[-1].subplots(1, 2)
            _draw_eigenvalues(left, f"({next(letters)}) eigenvalues, β = 1", panels.uncorrected_metrics)
            _draw_eigenvalues(right, f"({next(letters)}) eigenvalues, {panels.label}", panels.metrics)
    if panels.uncorrected_metrics is None:
        curves = "errors of the training batches' Rayleigh quotients, averaged between log points"
    else:
        curves = (
            "Rayleigh quotients of the training batches, averaged between log points; grey lines are the closed form"
        )
    caption = (
        f"Modes in the window ±{_window(panels):g} of a box ±{panels.box.high[0]:g} (red positive, blue negative), and "
        f"{curves}. Learned modes of one degenerate shell are rotated among themselves to match the grid's."
    )
    return {"hydrogen": (figure, caption)}


def _mode_rows(panels: Panels) -> list[tuple[str, Float[np.ndarray, "n p p"]]]:
    points = panels.grid.vectors.shape[-1]
    rows = [(f"sparse eigensolver on a {points}×{points} grid", _crop(panels))]
    if panels.uncorrected is not None:
        rows.append(("learned without bias correction, β = 1", _images(panels, panels.uncorrected)))
    rows.append((f"learned, {panels.label}", _images(panels, panels.learned)))
    return rows


def _window(panels: Panels) -> float:
    """Half-width of the part that is drawn, which holds the outermost state drawn."""
    shell = int(np.sqrt(min(panels.learned.n, SHOWN) - 1))
    return min(panels.box.high[0], 8.0 * (2 * shell + 1))


def _images(panels: Panels, modes: Modes) -> Float[np.ndarray, "n p p"]:
    window = _window(panels)
    line = np.linspace(-window, window, PIXELS)
    rotation = onto_grid(modes, panels.box, panels.grid, energies(modes.n))
    return np.moveaxis(np.asarray(modes(square(line, line))) @ rotation, -1, 0)


def _crop(panels: Panels) -> Float[np.ndarray, "n p p"]:
    points = panels.grid.vectors.shape[-1]
    inside = max(4, round(points * _window(panels) / panels.box.high[0]))
    first = (points - inside) // 2
    return panels.grid.vectors[:, first : first + inside, first : first + inside]


def _draw_row(strip: Any, title: str, images: Float[np.ndarray, "n p p"]) -> None:
    strip.suptitle(title, x=0.01, ha="left", fontsize=9, color=INK)
    axes = strip.subplots(1, max(len(images), 6), squeeze=False)[0]
    for axis, image in zip(axes, images, strict=False):
        limit = np.percentile(np.abs(image), 99.7)
        axis.imshow(image.T, origin="lower", cmap=DIVERGING, vmin=-limit, vmax=limit, interpolation="bilinear")
    for axis in axes:
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
        axis.set_axis_off() if not axis.images else None


def _draw_eigenvalues(axis: Axes, title: str, metrics: list[dict[str, Any]]) -> None:
    n = _plot_against_steps(axis, title, metrics, lambda values, exact: values)
    levels = np.unique(energies(n))
    for level in levels:
        axis.axhline(level, color=GREY, linewidth=0.8, zorder=0)
    axis.set_yscale("symlog", linthresh=-levels[-1] / 2)
    axis.set_ylim(-2, -levels[-1] / 2)
    axis.set_yticks([*levels, 0], labels=[*(_fraction(level) for level in levels), "0"])
    axis.yaxis.minorticks_off()


def _draw_errors(axis: Axes, title: str, metrics: list[dict[str, Any]]) -> None:
    _plot_against_steps(axis, title, metrics, relative_errors)
    axis.set_yscale("log")


def _plot_against_steps(axis: Axes, title: str, metrics: list[dict[str, Any]], of: Callable) -> int:
    """Draw one line for each mode, the first the darkest, and return the number of modes."""
    steps = np.array([row["step"] for row in metrics])
    values = _smooth(np.array([row["eigenvalues"] for row in metrics]))
    n = values.shape[1]
    shown = of(values, energies(n))
    for k, color in enumerate(mpl.colormaps[SEQUENCE](np.linspace(0, 0.9, n))):
        axis.plot(steps, shown[:, k], color=color, linewidth=1)
    axis.set_xscale("log")
    axis.set(xlabel="step", xlim=(steps[0], steps[-1]))
    axis.set_title(title, loc="left", color=INK)
    return n


def _fraction(level: float) -> str:
    return "−1" if level == -1 else f"−1/{-1 / level:.0f}"


def _smooth(values: Float[np.ndarray, "t n"], window: int = 9) -> Float[np.ndarray, "t n"]:
    """A running median, not a mean: the few small uniform batches with a point near the nucleus would dominate it."""
    half = window // 2
    return np.array([np.median(values[max(0, i - half) : i + half + 1], axis=0) for i in range(len(values))])

"""The figure of levels beside known ones: excitation energies, their errors, and the errors over the seconds."""

from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from eigenax.lab.report.digits import FEWEST_IN_UNITS, decimals, rounded
from eigenax.lab.report.quality import FEW, SMALLEST, decades
from eigenax.lab.report.style import GREY, INK, STYLE, new_figure
from eigenax.lab.scores.excitations import mean_errors
from eigenax.modes import Modes

WIDTH, TOP, BOTTOM = 8.2, 3.4, 2.7
"""Width of the figure and heights of its rows in inches."""
LEARNED, OTHER = "#1f5fa8", "#b65f3a"
MEDIAN = 20
"""Rows before each one that the median in a run of many rows is taken over."""
BAR = 0.32
"""Half the width of a bar at a known level."""


class Levels(NamedTuple):
    """What the figure is drawn from."""

    modes: Modes
    exact: Float[np.ndarray, " n"]
    reference: str
    """Where the known levels come from, in one word."""
    unit: str
    metrics: list[dict[str, Any]]
    classical: tuple[float, float | None, float | None] | None
    """The seconds of the classical method, and its mean relative errors of levels and of excitation energies."""


def draw(levels: Levels) -> tuple[Figure, str]:
    """The figure and its caption."""
    with mpl.rc_context(STYLE):
        figure = new_figure(WIDTH, TOP + BOTTOM)
        halves: Any = figure.subfigures(2, 1, height_ratios=[TOP, BOTTOM], hspace=0.02)
        _draw_levels(halves[0].subplots(), levels)
        left, right = halves[1].subplots(1, 2)
        _draw_errors(left, levels)
        _draw_over_seconds(right, levels)
    square = "; the squares are the classical method" if levels.classical else ""
    return figure, (
        f"(a) {'Excitation energies' if levels.modes.n > 1 else 'The level'} with standard errors; the bars are the "
        f"{levels.reference} values. (b) Their distances from these, beside their standard errors. (c) Mean relative "
        "errors over the seconds of the run, without compilation, a running median where there are many; the diamonds "
        "are the modes that came out"
        f"{square}."
    )


def _shown(levels: Levels) -> tuple[np.ndarray, ...]:
    """Numbers of the modes, their excitation energies, standard errors, and the known ones; of a single mode itself."""
    modes, exact = levels.modes, levels.exact
    if modes.n == 1:
        return np.ones(1), modes.eigenvalues, modes.standard_errors, exact
    found = modes.excitations
    return np.arange(2, modes.n + 1), found.values, found.standard_errors, exact[1:] - exact[0]


def _draw_levels(axis: Axes, levels: Levels) -> None:
    number, values, errors, exact = _shown(levels)
    axis.hlines(exact, number - BAR, number + BAR, color=OTHER, linewidth=2.2, label=levels.reference)
    axis.errorbar(
        number, values, errors, fmt="o", markersize=5, color=LEARNED, ecolor=LEARNED, capsize=3, label="eigenax"
    )
    modes = levels.modes
    places = decimals([modes.standard_errors[0]], fewest=FEWEST_IN_UNITS)
    ground = f"{rounded(modes.eigenvalues[0], places)} ± {modes.standard_errors[0]:.1g}"
    title = f"(a) excitation energies λₖ − λ₁ above λ₁ = {ground}" if modes.n > 1 else f"(a) the level {ground}"
    axis.set_title(f"{title}; {levels.reference} {rounded(levels.exact[0], places)}", loc="left", color=INK)
    axis.set(xlabel="mode", ylabel=levels.unit, xlim=(number[0] - 0.6, number[-1] + 0.6))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axis.legend(frameon=False, fontsize=8, loc="upper left")
    axis.margins(y=0.12)


def _draw_errors(axis: Axes, levels: Levels) -> None:
    number, values, errors, exact = _shown(levels)
    off = np.maximum(np.abs(values - exact), SMALLEST)
    axis.plot(number, off, "o", markersize=5, color=LEARNED, label="distance")
    axis.plot(number, np.maximum(errors, SMALLEST), "_", markersize=10, color=GREY, label="standard error")
    axis.set(yscale="log", xlabel="mode", ylabel=levels.unit, xlim=(number[0] - 0.6, number[-1] + 0.6))
    axis.set_ylim(*decades(np.concatenate([off, errors]), above=1))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axis.set_title(f"(b) distance from the {levels.reference} values", loc="left", color=INK)
    axis.legend(frameon=False, fontsize=7, ncols=2, loc="upper left", handletextpad=0.2, columnspacing=1.0)


def _draw_over_seconds(axis: Axes, levels: Levels) -> None:
    """The errors of the values in the metrics; the last point is that of the modes, which are measured at the end."""
    n = levels.modes.n
    rows = [row for row in levels.metrics if len(row.get("eigenvalues", ())) >= n]  # there may be spare ones
    if not rows and levels.classical is None:
        axis.set_axis_off()
        return
    seconds = np.array([row["seconds"] for row in rows])
    found = np.array([np.sort(row["eigenvalues"])[:n] for row in rows]).reshape(-1, n)
    many = len(rows) >= FEW
    raw, shown = _errors(found, levels.exact), _errors(_smooth(found) if many else found, levels.exact)
    (last,) = _errors(levels.modes.eigenvalues[None], levels.exact)
    classical = np.array(levels.classical or [np.nan] * 3, float)
    point, dots = {"linestyle": "", "clip_on": False, "zorder": 3}, {} if many else {"marker": "o", "markersize": 3.5}
    for which, (colour, name) in enumerate([(INK, "levels"), (LEARNED, "excitation energies")]):
        axis.plot(seconds, raw[:, which], linewidth=0.6, color=colour, alpha=0.25)
        axis.plot(seconds, shown[:, which], linewidth=1.4, color=colour, label=name, **dots)
        axis.plot(seconds[-1:], last[[which] * min(len(rows), 1)], "D", color=colour, markeredgecolor="white", **point)
        if levels.classical:
            error, label = max(classical[1 + which], SMALLEST), "classical" if which == 0 else None
            axis.plot(classical[0], error, "s", color=colour, markerfacecolor="white", label=label, **point)
    axis.set(xscale="log", yscale="log", xlabel="seconds")
    drawn = np.concatenate([np.asarray(line.get_data(), float) for line in axis.lines], axis=1)
    axis.set_xlim(*decades(drawn[0]))
    axis.set_ylim(*decades(drawn[1], above=1))
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_minor_formatter(NullFormatter())
    axis.set_title("(c) mean relative error over seconds", loc="left", color=INK)
    axis.legend(frameon=False, fontsize=7, ncols=3, loc="upper left", handletextpad=0.4, columnspacing=1.0)


def _errors(values: Float[np.ndarray, "t n"], exact: Float[np.ndarray, " n"]) -> Float[np.ndarray, "t 2"]:
    """Mean relative errors of levels and of excitation energies, NaN where there are none."""
    found = np.array([mean_errors(row, exact) for row in values], float).reshape(-1, 2)
    return np.maximum(found, SMALLEST)


def _smooth(values: Float[np.ndarray, "t n"]) -> Float[np.ndarray, "t n"]:
    """A running median over the rows before, since those of a training run scatter."""
    return np.array([np.nanmedian(values[max(0, k - MEDIAN) : k + 1], axis=0) for k in range(len(values))])

"""Figures of spectral embeddings: the embedding, the eigenvalues with their largest gap, and error by model size."""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from eigenax.lab.report.style import GREY, INK, STYLE, new_figure

OURS, OTHER = INK, "#b65f3a"
CLASSES = "tab10"


class Sized(NamedTuple):
    """The size of a saved model in bytes, and its error."""

    size: int
    error: float


def draw_embedding(
    parts: dict[str, tuple[Float[np.ndarray, "p n"], Int[np.ndarray, " p"]]],
) -> tuple[Figure, str]:
    """Each part of the rows over features 1 and 2, and over 3 and 4 if there are any, coloured by class."""
    n = next(iter(parts.values()))[0].shape[1]
    pairs = [(k, k + 1) for k in (0, 2) if k + 1 < n] or [(0, 0)]
    kinds = np.unique(np.concatenate([labels for _, labels in parts.values()]))
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 3.7 * len(pairs))
        axes = figure.subplots(len(pairs), len(parts), squeeze=False, sharex="row", sharey="row")
        for row, (first, second) in zip(axes, pairs, strict=True):
            for axis, (name, (values, labels)) in zip(row, parts.items(), strict=True):
                colours = mpl.colormaps[CLASSES](np.searchsorted(kinds, labels) % 10)
                axis.scatter(values[:, first], values[:, second], c=colours, s=7, linewidths=0, alpha=0.75)
                axis.set_title(f"{name}, {len(labels)} rows", loc="left", color=INK)
                axis.set_xlabel(f"feature {first + 1}")
            row[0].set_ylabel(f"feature {second + 1}")
        marks = [axes[0, 0].scatter([], [], color=mpl.colormaps[CLASSES](k % 10), s=24) for k in range(len(kinds))]
        figure.legend(marks, map(str, kinds), loc="outside right center", frameon=False, title="digit")
    return (
        figure,
        "Rows by their first features, coloured by class, which the embedding was not told; held-out rows are new.",
    )


def draw_spectrum(
    learned: Float[np.ndarray, " n"], exact: dict[str, Float[np.ndarray, " m"]], after: int
) -> tuple[Figure, str]:
    """Learned eigenvalues, exact ones, of which there may be more, and the largest gap, after eigenvalue `after`."""
    most = max(map(len, exact.values()))
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 3.4)
        axis = figure.subplots()
        values = np.concatenate([[0], learned])
        axis.axhspan(values[after], values[after + 1], color=GREY, alpha=0.15, linewidth=0)
        gap = f"largest gap: {after + 1} clusters"
        axis.text(most + 0.4, values[after : after + 2].mean(), gap, color=INK, fontsize=8, va="center", ha="right")
        for (name, known), colour in zip(exact.items(), (OTHER, GREY), strict=False):
            places = np.arange(1, len(known) + 1)
            axis.plot(places, known, "o", color=colour, markersize=8, fillstyle="none", label=f"exact, {name}")
        axis.plot(np.arange(1, len(learned) + 1), learned, "o", color=OURS, markersize=5, label="learned")
        axis.set(xlabel="feature", ylabel="eigenvalue λ", xticks=range(1, most + 1), ylim=(0, None))
        axis.legend(frameon=False, loc="upper left")
    caption = (
        "Learned eigenvalues are upper bounds of the exact ones of the graph that they were learned on. Shaded: the "
        f"largest gap between learned ones, after {after} of them and the constant."
    )
    return figure, caption


def draw_error_by_size(ours: Sequence[Sized], nystrom: Sequence[Sized], distance: str) -> tuple[Figure, str]:
    """Error on held-out rows against the size of the saved model in bytes."""
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 3.4)
        axis = figure.subplots()
        _line(axis, nystrom, "Nyström", OTHER)
        _line(axis, ours, "eigenax", OURS)
        last = nystrom[-1]
        axis.set(xscale="log", yscale="log", xlabel="kilobytes of the saved model", ylabel=f"{distance}, held out")
        at = last.size / 1000, last.error
        axis.annotate("all rows", at, (-6, -3), textcoords="offset points", ha="right", fontsize=8, color=OTHER)
        for shown in (axis.xaxis, axis.yaxis):
            shown.set_major_locator(LogLocator(subs=(1, 2, 5)))
            shown.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
            shown.set_minor_formatter(NullFormatter())
        axis.legend(frameon=False)
    best = f"{last.error:.3g} with all rows, {last.size:,} bytes"
    return figure, f"Distance to the full decomposition at held-out rows, by the size of the model. Nyström: {best}."


def _line(axis: Axes, points: Sequence[Sized], name: str, colour: str) -> None:
    sizes, errors = zip(*points, strict=True)
    axis.plot(np.array(sizes) / 1000, errors, "o-", color=colour, linewidth=2, markersize=5, label=name)

"""Figures of the slow features of a user's video: over time, and the frames at their extremes."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from eigenax.lab.report.slow_features import frames_only
from eigenax.lab.report.style import GREY, INK, STYLE, new_figure

COLUMNS = 6
"""Features in a row of the figure of extremes."""
MOST = 12
"""Largest number of features that are drawn."""
POINTS = 2000
"""About how many points a curve has at most."""


def draw_over_time(
    features: Sequence[Float[np.ndarray, "_ n"]], ends: Sequence[int], names: Sequence[str]
) -> tuple[Figure, str]:
    """Each feature over the rows of all files; the held-out rows are shaded."""
    lengths = np.array([len(one) for one in features])
    firsts = np.cumsum([0, *lengths])
    shown = min(features[0].shape[1], MOST)
    together = np.concatenate(features)
    every = max(1, len(together) // POINTS)
    limit = 1.05 * float(np.abs(together[:, :shown]).max())
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 0.5 + 0.62 * shown)
        axes: Any = figure.subplots(shown, 1, sharex=True, squeeze=False)[:, 0]
        for k, axis in enumerate(axes):
            for first, end, length in zip(firsts, ends, lengths, strict=False):
                times = np.arange(first, first + length, every)
                axis.plot(times, together[times, k], color=INK, linewidth=0.8)
                if end < length:
                    axis.axvspan(first + end, first + length, color=GREY, alpha=0.15, linewidth=0)
                if first:
                    axis.axvline(first, color=GREY, linewidth=0.8)
            axis.set_ylabel(str(k + 1), rotation=0, labelpad=10)
            axis.set_ylim(-limit, limit)
            axis.tick_params("y", labelsize=6)
        if len(features) > 1:
            for first, name in zip(firsts, names, strict=False):
                axes[0].annotate(name, (first, 1.05), xycoords=("data", "axes fraction"), fontsize=7, color=INK)
        axes[-1].set(xlabel="frame", xlim=(0, len(together)))
    held = " Grey: held out of the training." if any(e < n for e, n in zip(ends, lengths, strict=True)) else ""
    files = " Vertical lines separate files." if len(features) > 1 else ""
    return figure, f"The features over time, of variance one, the slowest first.{held}{files}"


def draw_extremes(series: Sequence[np.ndarray], features: Sequence[Float[np.ndarray, "_ n"]]) -> tuple[Figure, str]:
    """For each feature the frame with its largest value above the frame with its smallest."""
    shown = min(features[0].shape[1], MOST)
    columns = min(COLUMNS, shown)
    blocks = -(-shown // columns)
    low, high = (float(f([f(rows[:: max(1, len(rows) // 64)]) for rows in series])) for f in (np.min, np.max))
    with mpl.rc_context(STYLE):
        _, height, width = series[0].shape
        figure = new_figure(8.2 * columns / COLUMNS, blocks * (2 * 1.32 * height / width + 0.45))
        axes: Any = figure.subplots(2 * blocks, columns, squeeze=False)
        for k in range(shown):
            block, column = divmod(k, columns)
            for row, extreme in enumerate((np.argmax, np.argmin)):
                axis = axes[2 * block + row, column]
                axis.imshow(_frame(series, features, k, extreme), cmap="gray", vmin=low, vmax=high)
                if row == 0:
                    axis.set_title(f"feature {k + 1}", color=INK, fontsize=8)
        frames_only(axes.ravel(), [])
    return (
        figure,
        "The frames that activate each feature most (above) and least (below), in grey as the network sees them.",
    )


def _frame(
    series: Sequence[np.ndarray], features: Sequence[Float[np.ndarray, "_ n"]], k: int, extreme: Any
) -> Float[np.ndarray, "h w"]:
    """The frame at which a feature is largest or smallest in all files."""
    best = [extreme(one[:, k]) for one in features]
    file = int(extreme(np.array([one[at, k] for one, at in zip(features, best, strict=True)])))
    return np.asarray(series[file][int(best[file])], np.float64)

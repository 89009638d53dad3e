"""Panels on the quality of modes: errors, eigenvalues with standard errors, residuals."""

from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator

from eigenax.lab.report.style import GREY, INK, SEQUENCE
from eigenax.lab.scores.spectrum import relative_errors
from eigenax.modes import Modes

SMALLEST = 1e-16
"""Errors below this are drawn here, since a logarithmic axis has no zero."""
FEW = 20
"""Below this many rows, each has a marker."""
DOT = {"linestyle": "", "markersize": 5, "color": "#1f5fa8"}
"""How eigenvalues and errors are marked."""


def draw_errors(axis: Axes, title: str, modes: Modes, exact: Float[np.ndarray, " n"]) -> None:
    """The error of each eigenvalue beside its standard error, both relative where the exact value is not zero."""
    number, zero = np.arange(1, modes.n + 1), exact == 0
    errors = np.maximum(relative_errors(modes.eigenvalues, exact), SMALLEST)
    scatter = np.maximum(relative_errors(exact + modes.standard_errors, exact), SMALLEST)
    axis.plot(number[~zero], errors[~zero], marker="o", label="error", **DOT)
    if zero.any():
        axis.plot(number[zero], errors[zero], marker="o", label="absolute, exact is 0", markerfacecolor="white", **DOT)
    axis.plot(number, scatter, linestyle="", marker="_", markersize=9, color=GREY, label="standard error")
    axis.set_yscale("log")
    low, high = min(errors.min(), scatter.min()), max(errors.max(), scatter.max())
    axis.set_ylim(low / 4, high * 12)
    axis.legend(fontsize=7, frameon=False, ncols=3, loc="upper left", handletextpad=0.2, columnspacing=1.0)
    _by_mode(axis, title, modes.n)


def draw_levels(axis: Axes, title: str, modes: Modes) -> None:
    """The eigenvalues with their standard errors."""
    number = np.arange(1, modes.n + 1)
    axis.errorbar(number, modes.eigenvalues, modes.standard_errors, marker="o", ecolor=GREY, capsize=3, **DOT)
    _by_mode(axis, title, modes.n)


def _by_mode(axis: Axes, title: str, n: int) -> None:
    axis.set(xlabel="mode", xlim=(0.4, n + 0.6))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_title(title, loc="left", color=INK)


def draw_residuals(axis: Axes, title: str, metrics: list[dict[str, Any]]) -> None:
    """One line for each mode, the first the darkest: over the waves of each basis, or over seconds if one trained."""
    rows = [row for row in metrics if row.get("residuals")]
    axis.set_title(title, loc="left", color=INK)
    if not rows:
        return
    rows = [row for row in rows if len(row["residuals"]) == len(rows[-1]["residuals"])]  # of the same modes
    trained = any("waves" not in row for row in rows)
    x = [row["seconds"] if trained else row["waves"] for row in rows]
    residuals = np.array([row["residuals"] for row in rows], float)
    style = {"marker": "o", "markersize": 3.5} if len(rows) < FEW else {}
    for k, color in enumerate(mpl.colormaps[SEQUENCE](np.linspace(0, 0.85, residuals.shape[1]))):
        axis.plot(x, residuals[:, k], linewidth=1.2, color=color, **style)
    axis.set(xscale="log", yscale="log")
    axis.set_ylim(*decades(residuals))
    axis.yaxis.set_minor_formatter(NullFormatter())
    if trained:
        axis.set_xlabel("seconds, without compilation")
        return
    axis.set_xlim(x[0] / 1.3, x[-1] * 1.3)
    axis.set_xticks(x, labels=[f"{count}" for count in x])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel("random waves, in one basis after another")


def decades(values: Float[np.ndarray, "..."], above: int = 0) -> tuple[float, float]:
    """The powers of ten around all values that a logarithmic axis can show, and some more above them for a legend."""
    there = values[np.isfinite(values) & (values > 0)]
    if not there.size:
        return 0.1, 1.0
    low, high = np.floor(np.log10(there.min() / 1.1)), np.ceil(np.log10(there.max() * 1.1))
    return 10.0**low, 10.0 ** (high + above * np.ceil((high - low) / 7))

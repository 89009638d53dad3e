"""Figures of slow features: heat maps over places of balls, extreme frames, slowness of all methods, training."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eigenax.lab.report.style import DIVERGING, GREY, INK, SEQUENCE, STYLE, new_figure
from eigenax.lab.scores.balls import Meaning

COLUMNS = 6
"""Heat maps in a row."""
ACCENT = "#2a9d4a"
OTHERS = ("#8a929c", "#b65f3a", "#5c7fa8", "#8b6fb0", "#c9a227", "#3f9c9c")


def draw_heat_maps(
    maps: Float[np.ndarray, "n p p"], slowness: Float[np.ndarray, " n"], told: Meaning
) -> tuple[Figure, str]:
    """The mean of each feature, given that some ball is at a place, over all places."""
    columns = min(COLUMNS, len(maps))
    rows = -(-len(maps) // columns)
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2 * columns / COLUMNS, 1.72 * rows)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        limit = np.percentile(np.abs(maps), 99.5)
        for k, (axis, image) in enumerate(zip(axes, maps, strict=False)):
            axis.imshow(image, cmap=DIVERGING, vmin=-limit, vmax=limit, interpolation="bilinear")
            axis.set_title(f"{k + 1}: Δ = {slowness[k]:.4f}", color=INK, fontsize=8)
        frames_only(axes, [told.joint])
    caption = (
        "The mean of each feature while some ball is in a place (red positive, blue negative; one scale for all), and "
        f"its slowness, on held-out video. Outlined in green: feature {told.joint + 1}, of which the places of balls "
        f"one by one explain least ({told.marginal[told.joint]:.0%} of its variance)."
    )
    return figure, caption


def draw_overlays(
    pairs: Sequence[Float[np.ndarray, "2 h w"]], values: Float[np.ndarray, " m"], told: Meaning
) -> tuple[Figure, str]:
    """The frames that activate a feature most above those that do so least, each overlaid with the next frame."""
    half = len(pairs) // 2
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 3.3)
        axes = figure.subplots(2, half, squeeze=False).ravel()
        for axis, pair, value in zip(axes, pairs, values, strict=True):
            axis.imshow(overlaid(*pair))
            axis.set_title(f"{value:+.1f}", color=INK, fontsize=8)
        frames_only(axes, [])
    name, share = told.best_pair
    caption = (
        f"Frames of held-out video that activate feature {told.joint + 1} most (above) and least (below), with its "
        f"value there; successive frames are red and blue. Of what single places leave unexplained, {name}, summed "
        f"over pairs of balls, explains {share:.0%}."
    )
    return figure, caption


def overlaid(first: Float[np.ndarray, "h w"], second: Float[np.ndarray, "h w"]) -> Float[np.ndarray, "h w 3"]:
    """One frame in red and one in blue on white, purple where they overlap."""
    red, blue = np.array([0.85, 0.16, 0.16]), np.array([0.13, 0.33, 0.80])
    seen = [1 - np.clip(frame, 0, 1)[..., None] * (1 - colour) for frame, colour in ((first, red), (second, blue))]
    return np.clip(seen[0] * seen[1], 0, 1)


def draw_slowness(slowness: dict[str, Float[np.ndarray, " n"]]) -> tuple[Figure, str]:
    """Held-out slowness of each feature, for every method."""
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 3.4)
        axis = figure.subplots()
        learned, *others = slowness
        for name, colour in zip(others, OTHERS, strict=False):
            _line(axis, slowness[name], name, colour, 1.2)
        _line(axis, slowness[learned], learned, INK, 2.2)
        n = len(slowness[learned])
        axis.set(xlabel="feature", ylabel="Δ, held out", yscale="log", xticks=range(1, n + 1), xlim=(0.7, n + 0.3))
        axis.legend(frameon=False, fontsize=8, ncols=2)
    sums = ", ".join(f"{name} {values.sum():.3g}" for name, values in slowness.items() if np.isfinite(values).all())
    return figure, f"Slowness of each feature on held-out video, lower is slower. Sums: {sums}."


def _line(axis: Axes, values: Float[np.ndarray, " n"], name: str, colour: Any, width: float) -> None:
    axis.plot(np.arange(1, len(values) + 1), values, "o-", color=colour, linewidth=width, markersize=3, label=name)


def draw_training(metrics: list[dict[str, Any]], features: int) -> tuple[Figure, str]:
    """The Rayleigh quotients of the outputs during training, in the order of the outputs."""
    steps = np.array([row["step"] for row in metrics])
    values = np.array([row["eigenvalues"] for row in metrics])[:, 1:]
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 3.2)
        axis = figure.subplots()
        for k, colour in enumerate(mpl.colormaps[SEQUENCE](np.linspace(0, 0.9, values.shape[1]))):
            axis.plot(steps, values[:, k], color=colour, linewidth=1)
            if "held_out" in metrics[-1]:
                axis.plot(steps, [row["held_out"][k] for row in metrics], ":", color=colour, linewidth=1)
                axis.axvline(metrics[-1]["kept_step"], color=GREY, linewidth=0.8)
        axis.set(xlabel="step", ylabel="Δ in training", yscale="log", xlim=(steps[0], steps[-1]))
    swaps = order_swaps(values)
    caption = (
        f"Rayleigh quotients of the {values.shape[1]} outputs in training, the first in the darkest colour, averaged "
        f"between log points; the slowest {features} are the features. "
        f"Neighbours changed their order {swaps} times from one log point to the next."
    )
    if "held_out" in metrics[-1]:
        caption += (
            " Dotted: those of the features, in order, on frames held out to judge the training by; the network of the "
            "step at the grey line is kept."
        )
    return figure, caption


def order_swaps(values: Float[np.ndarray, "times n"]) -> int:
    """How often two neighbouring lines crossed.

    >>> order_swaps(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
    2
    """
    above = values[:, 1:] > values[:, :-1]
    return int((above[1:] != above[:-1]).sum())


def frames_only(axes: Any, outlined: Sequence[int]) -> None:
    """Remove ticks from images, and outline some of them by number."""
    for number, axis in enumerate(axes):
        axis.set(xticks=[], yticks=[])
        if not axis.images:
            axis.set_axis_off()
            continue
        axis.spines[:].set_visible(True)
        axis.spines[:].set_color(ACCENT if number in outlined else GREY)
        axis.spines[:].set_linewidth(2.5 if number in outlined else 0.6)

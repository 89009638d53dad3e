"""Figures of Atari games: the frames that features of each method tell apart, and the losses of successor features."""

from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from eigenax.lab.report.slow_features import OTHERS, frames_only
from eigenax.lab.report.style import INK, STYLE, new_figure
from eigenax.lab.scores.gameplay import EXTREME, extreme_frames, mean_frames

NAMES = {"spin": "slow features", "successor": "successor features", "pca": "principal components"}


def draw_extremes(
    frames: np.ndarray, found: dict[str, Float[np.ndarray, "time n"]], result: dict[str, Any]
) -> tuple[Figure, str]:
    """For each method and feature, the mean of the frames that activate it most, above that of those that do least."""
    n = next(iter(found.values())).shape[1]
    with mpl.rc_context(STYLE):
        figure = new_figure(1.25 * n + 0.4, 2.75 * len(found))
        blocks: Any = figure.subfigures(len(found), 1, squeeze=False)[:, 0]
        for block, (name, values) in zip(blocks, found.items(), strict=True):
            block.suptitle(
                f"{NAMES[name]}: probe {result['probe'][name]:.2f}", fontsize=9, color=INK, x=0.01, ha="left"
            )
            axes = block.subplots(2, n, squeeze=False)
            for k in range(n):
                for axis, image in zip(axes[:, k], mean_frames(frames, extreme_frames(values[:, k])), strict=True):
                    axis.imshow(image, cmap="gray", vmin=0, vmax=float(frames.max()))
                axes[0, k].set_title(
                    f"Δ {result['slowness'][name][k]:.2g}, {result['separation'][name][k]:.0f} σ", fontsize=7, color=INK
                )
            frames_only(axes.ravel(), [])
    return figure, (
        f"The mean of the {EXTREME} held-out frames that activate a feature most (above) and least (below), its "
        "slowness Δ, and how far the two means are apart, in standard errors of random splits of the same frames. "
        "Probe: the share of the console's memory that linear functions of all features explain. "
        f"Slow features after {result['iterations']['spin']:,} training steps, successor features after "
        f"{result['iterations']['successor']:,}."
    )


def draw_losses(metrics: list[dict[str, Any]]) -> tuple[Figure, str]:
    """Both losses of the successor features over their training."""
    steps = [row["step"] for row in metrics]
    shown = {
        "error of the next frame": [row["prediction"] for row in metrics],
        "successor error over variance": [row["successor"] / max(row["aim"], 1e-12) for row in metrics],
    }
    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 2.6)
        axes: Any = figure.subplots(1, 2)
        for axis, (name, values), colour in zip(axes, shown.items(), OTHERS, strict=False):
            axis.plot(steps, values, color=colour, linewidth=1.2)
            axis.set(xlabel="step", ylabel=name, yscale="log", xlim=(0, steps[-1]))
    return figure, (
        "Training of the successor features. Left: the mean squared error of the predicted next frame. Right: that of "
        "successor features against one step of their recursion, divided by the variance of this target, which jumps "
        "whenever the target network is renewed."
    )

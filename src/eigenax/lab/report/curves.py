"""Modes on a line, drawn over their potential."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes

from eigenax.lab.report.style import GREY, INK, SEQUENCE

SHOWN = 12
"""Largest number of modes that are drawn."""


def draw_curves(
    axis: Axes,
    title: str,
    x: Float[np.ndarray, " p"],
    values: Float[np.ndarray, "p n"],
    eigenvalues: Float[np.ndarray, " n"],
    potential: Callable[[Array], Array] | None,
) -> None:
    """Draw each mode at the height of its eigenvalue, over the potential if there is one."""
    shown = min(len(eigenvalues), SHOWN)
    values, levels = values[:, :shown], eigenvalues[:shown]
    spacing = (levels[-1] - levels[0]) / max(shown - 1, 1) or abs(levels[0]) or 1.0
    scale = 0.8 * spacing / np.abs(values).max()
    floor = levels[0] - spacing
    if potential is not None:
        with jax.enable_x64(True):
            height = np.asarray(jax.vmap(potential)(jnp.asarray(x)[:, None]), float)
        floor = min(floor, max(np.nanmin(height), levels[0] - (levels[-1] - levels[0]) - 2 * spacing))
        axis.fill_between(x, floor - spacing, height, color=GREY, alpha=0.12, linewidth=0)
        axis.plot(x, height, color=GREY, linewidth=1)
    for k, color in enumerate(mpl.colormaps[SEQUENCE](np.linspace(0, 0.85, shown))):
        axis.axhline(levels[k], color=GREY, linewidth=0.5, alpha=0.6, zorder=0)
        axis.plot(x, levels[k] + scale * values[:, k], color=color, linewidth=1.4)
    axis.set(xlabel="x", xlim=(x[0], x[-1]), ylim=(floor - 0.1 * spacing, levels[-1] + 1.1 * spacing))
    axis.set_title(title, loc="left", color=INK)

"""The look of all figures."""

import io
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

INK, GREY = "#1b1f24", "#8a929c"
DIVERGING, SEQUENCE = "RdBu_r", "viridis"

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "figure.dpi": 130,
}


def new_figure(width: float, height: float) -> Figure:
    """A figure of its own, not registered with pyplot's global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.set_dpi(STYLE["figure.dpi"])
    return figure


def to_png(figure: Figure) -> bytes:
    """A small PNG with 256 colours and no date, so that the same figure always gives the same bytes."""
    drawn, reduced = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(reduced, "PNG", optimize=True)
    return reduced.getvalue()

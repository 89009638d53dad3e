"""Figures of a kernel's eigenfunctions and eigenvalues, learned and exact."""

from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from eigenax.lab.report.style import DIVERGING, GREY, INK, SEQUENCE, STYLE, new_figure
from eigenax.lab.scores.cosines import matched
from eigenax.lab.scores.spectrum import relative_errors
from eigenax.lab.spectra.mercer import Mercer
from eigenax.modes import Modes

SHOWN = 10
"""Largest number of modes that are drawn."""
WIDTH = 8.2
"""Width of the figures in inches."""
REACH = 3.5
"""Standard deviations to either side of the mean that an image shows."""
PIXELS = 101
"""Pixels on each side of an image."""
ALIGNMENT_POINTS = 4096
"""Number of random points on which learned functions of equal eigenvalues are aligned with the exact ones."""
LEARNED, OTHER = "#1f5fa8", "#b65f3a"


class Compared(NamedTuple):
    """What the figures are drawn from."""

    modes: Modes
    closed_form: Callable[[np.ndarray], Mercer]
    exact: Float[np.ndarray, " n"]
    nystrom: Float[np.ndarray, " n"]
    points: int
    """Number of points of Nyström's method."""


def draw(compared: Compared) -> dict[str, tuple[Figure, str]]:
    """The figures and their captions."""
    functions = draw_lines if compared.modes.shape == (1,) else draw_maps
    with mpl.rc_context(STYLE):
        return {"eigenfunctions": functions(compared), "eigenvalues": draw_eigenvalues(compared)}


def draw_lines(compared: Compared) -> tuple[Figure, str]:
    """Functions of one variable, each around its own level, with the exact ones dashed."""
    x = np.linspace(-REACH - 1, REACH + 1, 401)
    learned, exact = _beside(compared, x[:, None])
    shown = min(compared.modes.n, SHOWN)
    figure = new_figure(WIDTH, 0.55 + 0.42 * shown)
    axis = figure.subplots()
    density = np.exp(
        -(x**2) / 4
    )  # the root of the density: functions times it have the inner product of plain functions
    scale = 0.46 / np.abs(exact[:, :shown] * density[:, None]).max()
    for k, colour in enumerate(mpl.colormaps[SEQUENCE](np.linspace(0, 0.85, shown))):
        axis.axhline(-k, color=GREY, linewidth=0.5, alpha=0.5, zorder=0)
        axis.plot(x, scale * density * learned[:, k] - k, color=colour, linewidth=2.6, alpha=0.55, label="learned")
        axis.plot(x, scale * density * exact[:, k] - k, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), label="exact")
        axis.text(x[-1] + 0.1, -k, f"λ = {compared.modes.eigenvalues[k]:.4g}", va="center", fontsize=8, color=INK)
    axis.set(xlabel="x, in standard deviations", ylabel="mode", xlim=(x[0], x[-1]), ylim=(-shown + 0.4, 0.6))
    axis.set_yticks(-np.arange(shown), labels=[str(k + 1) for k in range(shown)])
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(handles[:2], labels[:2], frameon=False, fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    axis.set_title("eigenfunctions times the root of the density", loc="left", color=INK)
    return figure, "Learned eigenfunctions (broad) and those of the closed form (dashed), times √density, one a line."


def draw_maps(compared: Compared) -> tuple[Figure, str]:
    """Functions in the plane of the first two axes, learned above exact."""
    line = np.linspace(-REACH, REACH, PIXELS)
    plane = np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)
    dims = compared.modes.shape[0]
    x = np.concatenate([plane, np.zeros((len(plane), dims - 2))], 1)
    density = np.exp(-(plane**2).sum(1) / 4)[:, None]
    learned, exact = (np.moveaxis((f * density).reshape(PIXELS, PIXELS, -1), -1, 0) for f in _beside(compared, x))
    columns = min(compared.modes.n, SHOWN)
    figure = new_figure(WIDTH, 2 * WIDTH / columns + 0.75)
    strips: Any = figure.subfigures(2, 1, hspace=0.02)
    largest = np.abs(exact[:columns]).max((1, 2))
    limits = np.maximum(largest, 0.02 * largest.max())  # a mode that vanishes in this plane is drawn empty
    labels = [compared.modes.eigenvalues, compared.exact]
    for strip, title, images, values in zip(
        strips, ("(a) learned", "(b) exact"), (learned, exact), labels, strict=True
    ):
        strip.suptitle(title, x=0.01, ha="left", fontsize=9, color=INK)
        for k, axis in enumerate(strip.subplots(1, columns, squeeze=False)[0]):
            axis.imshow(
                images[k].T, origin="lower", cmap=DIVERGING, vmin=-limits[k], vmax=limits[k], interpolation="bilinear"
            )
            axis.set_title(f"{values[k]:.4g}", fontsize=7, color=INK, pad=2)
            axis.set_axis_off()
    where = "in the plane" if dims == 2 else "in the plane of the first two axes, the others zero,"
    caption = (
        f"Eigenfunctions times √density {where} up to {REACH:g} standard deviations (red positive, blue negative), "
        "with their eigenvalues. Learned functions of one eigenvalue are rotated among themselves to match the exact "
        "ones."
    )
    return figure, caption


def draw_eigenvalues(compared: Compared) -> tuple[Figure, str]:
    """Eigenvalues on a logarithmic scale, and their relative errors."""
    number = np.arange(1, compared.modes.n + 1)
    figure = new_figure(WIDTH, 3.1)
    left, right = figure.subplots(1, 2)
    left.plot(number, compared.exact, marker="_", markersize=15, linestyle="", color=INK, label="exact")
    left.plot(number, compared.nystrom, "s", markersize=4, markerfacecolor="white", color=OTHER, label="Nyström")
    left.plot(number, compared.modes.eigenvalues, "o", markersize=4.5, color=LEARNED, label="learned")
    _finish(left, "(a) eigenvalues")
    tiny = np.finfo(float).eps
    for values, colour, marker, name in (
        (compared.nystrom, OTHER, "s", f"Nyström, {compared.points} points"),
        (compared.modes.eigenvalues, LEARNED, "o", "learned"),
    ):
        errors = np.maximum(relative_errors(values, compared.exact), tiny)
        right.plot(number, errors, marker=marker, markersize=4, linewidth=1, color=colour, label=name)
    shares = np.maximum(compared.modes.standard_errors / compared.exact, tiny)
    right.plot(number, shares, "_", markersize=9, color=GREY, label="standard error")
    _finish(right, "(b) relative errors")
    caption = (
        "Eigenvalues of the closed form, learned, and of Nyström's method, the dense matrix of "
        f"{compared.points} independent points; and the relative errors of both."
    )
    return figure, caption


def _finish(axis: Axes, title: str) -> None:
    axis.set_yscale("log")
    axis.set_xlabel("mode")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    low, high = axis.get_ylim()
    axis.set_ylim(low, high * (high / low) ** 0.25)
    axis.legend(frameon=False, fontsize=7, ncols=3, loc="upper right", handletextpad=0.3, columnspacing=1.0)
    axis.set_title(title, loc="left", color=INK)


def _beside(compared: Compared, x: Float[np.ndarray, "p d"]) -> tuple[np.ndarray, np.ndarray]:
    """Learned functions, rotated inside each eigenspace to match the exact ones, and the exact ones."""
    drawn = np.random.default_rng(0).normal(
        size=(ALIGNMENT_POINTS, x.shape[1])
    )  # x may lie in a plane where some functions vanish
    every = np.concatenate([drawn, x])
    weights = np.concatenate([np.ones(len(drawn)), np.zeros(len(x))])
    learned, exact = np.asarray(compared.modes(every), float), compared.closed_form(every).functions
    turned = matched(learned, exact, compared.exact, weights, within=1e-9).functions
    return turned[len(drawn) :], exact[len(drawn) :]

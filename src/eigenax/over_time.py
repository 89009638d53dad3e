"""Evaluate features over whole time series and videos."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.batch import Function
from eigenax.core.compiled import compiled
from eigenax.core.precision import full_precision, precision_scope
from eigenax.modes import Modes
from eigenax.progress import progress_track
from eigenax.sources.time_series import as_images, joined

ROWS_PER_PIECE = 512
"""How many rows are evaluated at a time, so that a long series need not fit into memory."""


def features_of(
    modes: Modes,
    series: np.ndarray,
    *,
    n_stack: int = 1,
    view: Callable[[Array], Array] | None = None,
    progress: bool = False,
) -> Float[np.ndarray, "time n"]:
    """One row of features for each row of a series, computed from it and the `n_stack` − 1 rows before it.

    At the beginning, copies of the first row stand in for the missing rows before it. `view` is as in `TimeSeries`. A
    memory-mapped series is read piece by piece.
    """
    with precision_scope(modes.precision, at_least=True), full_precision():
        return values_over(modes.at_point, series, n_stack=n_stack, view=view, progress=progress)


def values_over(
    function: Function,
    series: np.ndarray,
    *,
    n_stack: int = 1,
    view: Callable[[Array], Array] | None = None,
    progress: bool = False,
) -> Float[np.ndarray, "time n"]:
    """As `features_of`, for any function of one point."""
    pieces = []
    for start in progress_track(range(0, len(series), ROWS_PER_PIECE), "features", show=progress):
        rows = np.arange(start - n_stack + 1, start + ROWS_PER_PIECE).clip(0, len(series) - 1)
        piece = series[rows[0] : rows[-1] + 1][rows - rows[0]]
        pieces.append(np.asarray(_values_of_piece(function, jnp.asarray(piece, float), n_stack, view)))
    return np.concatenate(pieces)[: len(series)]


@compiled
def _values_of_piece(function: Function, rows: Array, n_stack: int, view: Callable[[Array], Array] | None) -> Array:
    images = jax.vmap(as_images if view is None else lambda row: as_images(view(row)))(rows)
    return jax.vmap(function)(joined(images, n_stack))

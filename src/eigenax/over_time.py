"""The features of whole series and videos."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.batch import Function
from eigenax.core.precision import full_precision, precision_scope
from eigenax.modes import Modes
from eigenax.progress import progress_track
from eigenax.sources.time_series import as_images, joined

AT_ONCE = 512


def features_of(
    modes: Modes,
    series: np.ndarray,
    *,
    n_stack: int = 1,
    view: Callable[[Array], Array] | None = None,
    progress: bool = False,
) -> Float[np.ndarray, "time n"]:
    """One row of features for each row of a series, made of it and the `n_stack` − 1 rows before it.

    The first rows have too few before them, and the very first one stands in for those. `view` is that of `TimeSeries`.
    A memory-mapped series is read piece by piece.
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
    """The same of any function of a point."""
    pieces = []
    for start in progress_track(range(0, len(series), AT_ONCE), "features", show=progress):
        rows = np.arange(start - n_stack + 1, start + AT_ONCE).clip(0, len(series) - 1)
        piece = series[rows[0] : rows[-1] + 1][rows - rows[0]]
        pieces.append(np.asarray(_of_piece(function, jnp.asarray(piece, float), n_stack, view)))
    return np.concatenate(pieces)[: len(series)]


@eqx.filter_jit
def _of_piece(function: Function, rows: Array, n_stack: int, view: Callable[[Array], Array] | None) -> Array:
    seen = jax.vmap(as_images if view is None else lambda row: as_images(view(row)))(rows)
    return jax.vmap(function)(joined(seen, n_stack))

"""Functions of the rows of long series, computed in pieces of one size."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num

from eigenax.core.compiled import compiled
from eigenax.progress import progress_track

PIECE = 8192
"""Number of rows that are computed at a time."""

Function = Callable[[Any], Array]
"""A function of one row."""


def of_rows(function: Function, rows: Num[np.ndarray, "time m"]) -> Float[np.ndarray, "time n"]:
    """The values of a function at all rows, computed in pieces."""
    return by_pieces(lambda numbers: _applied(function, rows[numbers]), len(rows))


@compiled
def _applied(function: Function, rows: Num[Array | np.ndarray, "b m"]) -> Float[Array, "b n"]:
    return jax.vmap(function)(jnp.asarray(rows, jnp.float32))


def by_pieces(
    function: Callable[[Int[np.ndarray, " b"]], Array], count: int, progress: bool = False
) -> Float[np.ndarray, "time n"]:
    """The values of a function of row numbers, in pieces of one size: a GPU needs seconds to compile a new size."""
    starts = progress_track(range(0, count, PIECE), "classical slow features", show=progress)
    size = min(PIECE, count)
    pieces = [np.asarray(function(np.arange(start, start + size).clip(0, count - 1))) for start in starts]
    return np.concatenate(pieces)[:count]

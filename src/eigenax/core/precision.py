"""How precisely to count: full float32 products, and float64 where the algebra needs it."""

from typing import Literal

import jax
import jax.numpy as jnp


def full_precision():
    """A context in which whatever is traced multiplies matrices in the full precision of its type.

    A user's network is traced inside it too. Finite differences of 0.1 in the reduced precision of a GPU have
    errors ten times as large as the Laplacian itself.
    """
    return jax.default_matmul_precision("highest")


Precision = Literal["float32", "float64"]


def precision_scope(precision: Precision, at_least: bool = False):
    """A context in which new arrays and compiled functions are of this precision, or of a higher one if that is on."""
    already = jnp.zeros(()).dtype == jnp.float64
    return jax.enable_x64(precision == "float64" or (at_least and already))

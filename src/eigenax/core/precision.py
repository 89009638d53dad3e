"""Numerical precision: matrix products in full float32, and float64 where linear algebra needs it."""

from typing import Literal

import jax
import jax.numpy as jnp


def full_precision():
    """A context in which whatever is traced multiplies matrices in the full precision of its type.

    A user's network is traced inside it too. GPUs multiply float32 matrices in a reduced precision by default: finite
    differences of step 0.1 then have errors ten times as large as the Laplacian itself.
    """
    return jax.default_matmul_precision("highest")


Precision = Literal["float32", "float64"]


def precision_scope(precision: Precision, at_least: bool = False):
    """A context in which new arrays and compiled functions have this precision; `at_least` keeps float64 if on."""
    already = jnp.zeros(()).dtype == jnp.float64
    return jax.enable_x64(precision == "float64" or (at_least and already))

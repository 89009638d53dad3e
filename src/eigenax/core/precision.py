"""Full float32 products: on GPUs the default is coarser, and second derivatives drown in its rounding."""

import jax


def full_precision():
    """A context in which whatever is traced multiplies matrices in the full precision of its type.

    A user's network is traced inside it too. Finite differences of 0.1 in the reduced precision of a GPU have
    errors ten times as large as the Laplacian itself.
    """
    return jax.default_matmul_precision("highest")

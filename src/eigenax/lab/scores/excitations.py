"""Mean errors of levels and of excitation energies."""

import numpy as np
from jaxtyping import Float


def mean_errors(values: Float[np.ndarray, " n"], exact: Float[np.ndarray, " n"]) -> tuple[float | None, float | None]:
    """The mean relative errors of levels and of excitation energies; exact zeros are left out, None if all are zero.

    >>> mean_errors(np.array([1.5, 2.5]), np.array([1.0, 2.0]))
    (0.375, 0.0)
    """
    return _mean(values, exact), _mean(values[1:] - values[0], exact[1:] - exact[0])


def _mean(values: Float[np.ndarray, " m"], exact: Float[np.ndarray, " m"]) -> float | None:
    there = exact != 0
    return float(np.mean(np.abs(values - exact)[there] / np.abs(exact[there]))) if there.any() else None

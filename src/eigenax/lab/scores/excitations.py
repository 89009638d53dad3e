"""Excitation energies: differences from the lowest eigenvalue, which are what experiments see."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.modes import Modes


class Excitations(NamedTuple):
    """λ_k − λ_1 for k from 2, with standard errors."""

    energies: Float[np.ndarray, " m"]
    standard_errors: Float[np.ndarray, " m"]


def excitations(modes: Modes) -> Excitations:
    """The excitation energies of modes, with standard errors as if those of the eigenvalues were independent."""
    errors = modes.standard_errors
    return Excitations(modes.eigenvalues[1:] - modes.eigenvalues[0], np.hypot(errors[1:], errors[0]))


def mean_errors(values: Float[np.ndarray, " n"], exact: Float[np.ndarray, " n"]) -> tuple[float | None, float | None]:
    """The mean relative errors of levels and of excitation energies; exact zeros are left out, None if all are zero.

    >>> mean_errors(np.array([1.5, 2.5]), np.array([1.0, 2.0]))
    (0.375, 0.0)
    """
    return _mean(values, exact), _mean(values[1:] - values[0], exact[1:] - exact[0])


def _mean(values: Float[np.ndarray, " m"], exact: Float[np.ndarray, " m"]) -> float | None:
    there = exact != 0
    return float(np.mean(np.abs(values - exact)[there] / np.abs(exact[there]))) if there.any() else None

"""Excitation energies: differences from the lowest eigenvalue, which are what experiments see."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Excitations(NamedTuple):
    """λ_k − λ_1 for k = 2 … n, with standard errors."""

    values: Float[np.ndarray, " m"]
    standard_errors: Float[np.ndarray, " m"]

    @classmethod
    def of(
        cls,
        values: Float[np.ndarray, " n"],
        standard_errors: Float[np.ndarray, " n"],
        covariance: Float[np.ndarray, "n n"] | None = None,
    ) -> "Excitations":
        """From eigenvalues and the covariance of their errors; without it, errors count as independent.

        >>> Excitations.of(np.array([1.0, 3.0]), np.array([3.0, 4.0])).standard_errors
        array([5.])
        >>> both_alike = np.array([[9.0, 12.0], [12.0, 16.0]])
        >>> Excitations.of(np.array([1.0, 3.0]), np.array([3.0, 4.0]), both_alike).standard_errors
        array([1.])
        """
        between = np.diag(standard_errors**2) if covariance is None else covariance
        variances = np.diag(between)[1:] + between[0, 0] - 2 * between[0, 1:]
        return cls(values[1:] - values[0], np.sqrt(np.maximum(variances, 0)))

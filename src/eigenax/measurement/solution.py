"""What solves an eigenproblem in given functions: combinations of them, eigenvalues and errors."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Inexact


class Solution(NamedTuple):
    """Combinations of functions that solve an eigenproblem, with their errors; `Modes` has the same fields."""

    values: Float[np.ndarray, " n"]
    coefficients: Inexact[np.ndarray, "f n"]
    sampling_errors: Float[np.ndarray, " n"]
    basis_errors: Float[np.ndarray, " n"]
    residuals: Float[np.ndarray, " n"]
    next_value: float | None = None
    """The eigenvalue that follows the last of these, where it is known."""
    note: str = ""
    """What a user should know about the errors, in a sentence."""
    training_values: Float[np.ndarray, " n"] | None = None
    """The values on training data, where `values` are those on held-out data."""
    missed: Float[np.ndarray, " n"] | None = None
    """The share of each eigenvector's variance that its fit misses, where `values` are those of a matrix."""

    def metrics(self) -> dict[str, list[float]]:
        """The numbers that a run logs."""
        errors = np.hypot(self.sampling_errors, self.basis_errors)
        values = {"eigenvalues": self.values, "residuals": self.residuals, "standard_errors": errors}
        return {name: each.tolist() for name, each in values.items()}

"""First-order bounds on how far functions are from eigenfunctions, and on what that changes in matrix elements."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

ROUNDING = 1e-9
"""Eigenvalues that differ by less than this share of the largest one count as equal."""


class Perturbed(NamedTuple):
    """Bounds on δv, where v are the functions found and v + δv the exact ones."""

    outside: Float[np.ndarray, " n"]
    """The largest norm that the part of each δv outside the span of the functions found can have."""
    mixing: Float[np.ndarray, "n n"]
    """The largest size that the coefficient of v_j in δv_i can have; zero where eigenvalues agree within errors."""

    @classmethod
    def of(
        cls,
        values: Float[np.ndarray, " n"],
        errors: Float[np.ndarray, " n"],
        residuals: Float[np.ndarray, " n"],
        next_value: float | None = None,
    ) -> "Perturbed":
        """From eigenvalues, their errors and residuals: errors and residuals each give a bound, the smaller is taken.

        Outside the span, the gap is the distance to `next_value`. Where that is not known, or equal within errors, the
        distance to the nearest other eigenvalue stands in for it; where there is none, all of a function may be wrong.
        Inside the span δv is of second order: by the Cauchy–Schwarz inequality, what the span misses moves Λ_ij by at
        most the geometric mean of its effects on λ_i and on λ_j. Where neither error nor residual is known (NaN),
        the bounds are NaN.

        >>> known = np.array([1.0, 3.0]), np.array([0.01, 0.16]), np.array([0.4, 0.2])
        >>> Perturbed.of(*known, next_value=5.0).outside
        array([0.05, 0.1 ])
        """
        off = np.where(np.isnan(errors), 0, errors)
        largest = np.abs([*values, next_value or 0.0]).max(initial=0)
        apart = np.abs(values[:, None] - values)
        alike = apart <= off[:, None] + off + ROUNDING * largest
        nearest = np.where(alike, np.inf, apart).min(1, initial=np.inf)
        after = np.abs((np.nan if next_value is None else next_value) - values)
        gaps = np.where(after > 2 * off + ROUNDING * largest, after, nearest)
        alone = np.isinf(gaps)
        # What is infinitely far off has no gap: all of such a function may be wrong, unless nothing is left of it.
        with np.errstate(invalid="ignore"):
            outside = np.where(alone, residuals > 0, np.fmin(residuals / gaps, np.sqrt(errors / gaps)))
            missed = np.where(np.isnan(errors), np.where(alone, residuals, gaps * outside**2), errors)
        mixing = np.where(alike, 0, np.sqrt(missed[:, None] * missed) / np.where(alike, 1, apart))
        return cls(outside, mixing)

    def largest_changes(
        self, elements: Inexact[np.ndarray, "n n"], squares: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n n"]:
        """Bounds on the first-order change of ⟨v_i|A|v_j⟩, for a symmetric A with these `elements` and ‖A v_j‖².

        Outside the span, only the part of A v_j that lies there overlaps with δv_i. Inside, turning v_i towards v_j
        turns v_j away from v_i, so that a constant A changes nothing.

        >>> Perturbed(np.array([0.1, 0.0]), np.zeros((2, 2))).largest_changes(np.eye(2), np.array([1.0, 2.0]))
        array([[0. , 0.1],
               [0.1, 0. ]])
        """
        own = np.diag(elements)
        beyond = np.sqrt(np.maximum(squares - (np.abs(elements) ** 2).sum(0), 0))
        changes = self.outside[:, None] * beyond + self.mixing @ np.abs(elements - np.diag(own))
        return changes + changes.T + self.mixing * np.abs(own[:, None] - own)

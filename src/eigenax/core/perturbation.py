"""How far functions may be from eigenfunctions, to first order, and how much that moves what is measured with them."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Inexact

ROUNDING = 1e-9
"""Values that differ by less than this share of the largest one are equal."""


class Perturbed(NamedTuple):
    """By how much exact functions v + δv may differ from those found."""

    outside: Float[np.ndarray, " n"]
    """The norm of the part of δv that is in the span of none of them."""
    turned: Float[np.ndarray, "n n"]
    """How much of the other functions is in each; zero among those whose values agree within their errors."""

    @classmethod
    def of(
        cls,
        values: Float[np.ndarray, " n"],
        errors: Float[np.ndarray, " n"],
        residuals: Float[np.ndarray, " n"],
        next_value: float | None = None,
    ) -> "Perturbed":
        """From their values, how far these may be off, and the residuals: of what these two allow, the less.

        Outside the span are the values from the next one on. Where that is not known, or equal within errors, the
        nearest other one stands in for it; where there is none, all of a function may be wrong. In the span δv is of
        second order: by Cauchy and Schwarz, what is missed moves Λ_ij by no more than the root of its effects on λ_i
        and on λ_j. Where neither error nor residual is known (NaN), nothing is.

        >>> known = np.array([1.0, 3.0]), np.array([0.01, 0.16]), np.array([0.4, 0.2])
        >>> Perturbed.of(*known, next_value=5.0).outside
        array([0.05, 0.1 ])
        """
        off = np.nan_to_num(errors)
        largest = np.abs([*values, next_value or 0.0]).max(initial=0)
        apart = np.abs(values[:, None] - values)
        alike = apart <= off[:, None] + off + ROUNDING * largest
        nearest = np.where(alike, np.inf, apart).min(1, initial=np.inf)
        after = np.abs((np.nan if next_value is None else next_value) - values)
        gaps = np.where(after > 2 * off + ROUNDING * largest, after, nearest)
        alone = np.isinf(gaps)
        outside = np.where(alone, 1.0, np.fmin(residuals / gaps, np.sqrt(errors / gaps)))
        missed = np.where(np.isnan(errors), np.where(alone, residuals, gaps * outside**2), errors)
        turned = np.where(alike, 0, np.sqrt(missed[:, None] * missed) / np.where(alike, 1, apart))
        return cls(outside, turned)

    def moves(self, elements: Inexact[np.ndarray, "n n"], squares: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
        """The most by which ⟨v_i|A|v_j⟩ change to first order, of a symmetric A with these elements and ‖A v_j‖².

        What A makes of v_j outside the span is all that δv_i can meet there, and turning v_i towards v_j turns v_j away
        from v_i: a constant A moves nothing.

        >>> Perturbed(np.array([0.1, 0.0]), np.zeros((2, 2))).moves(np.eye(2), np.array([1.0, 2.0]))
        array([[0. , 0.1],
               [0.1, 0. ]])
        """
        own = np.diag(elements)
        beyond = np.sqrt(np.maximum(squares - (np.abs(elements) ** 2).sum(0), 0))
        changes = self.outside[:, None] * beyond + self.turned @ np.abs(elements - np.diag(own))
        return changes + changes.T + self.turned * np.abs(own[:, None] - own)

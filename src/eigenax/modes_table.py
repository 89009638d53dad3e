"""The table that `print(modes)` shows."""

import math

import numpy as np
from jaxtyping import Bool, Float


def table(
    eigenvalues: Float[np.ndarray, " n"],
    errors: Float[np.ndarray, " n"],
    unconverged: Bool[np.ndarray, " n"],
    *,
    residuals: Float[np.ndarray, " n"],
    training: Float[np.ndarray, " n"] | None = None,
    missed: Float[np.ndarray, " n"] | None = None,
    advice: str = "",
    note: str = "",
) -> str:
    """One row for each mode; a star marks those that have not converged.

    Columns of what is not known are left out. `advice` ends the sentence about stars, and `note` is the last line.

    >>> print(table(np.array([2.0]), np.array([1e-3]), np.array([True]), residuals=np.array([0.1]), advice="; wait"))
    mode      eigenvalue  ± std. err  residual
       1               2       0.001       0.1  *
    * not converged, as its residual or its basis error tells; wait
    """
    largest = np.abs(eigenvalues).max(initial=0)
    rows = [
        f"{k + 1:4d}  {_rounded(value, error, largest):>14s}  {error:10.1g}"
        for k, (value, error) in enumerate(zip(eigenvalues, errors, strict=True))
    ]
    head, notes = f"mode  {'eigenvalue':>14s}  {'± std. err':>10s}", []
    if not np.isnan(residuals).all():  # unknown for the steps of a process
        rows = [f"{row}  {rest:8.1g}" for row, rest in zip(rows, residuals, strict=True)]
        head = f"{head}  residual"
    if training is not None:
        rows = [f"{row}  {value:10.4g}" for row, value in zip(rows, training, strict=True)]
        head = f"{head}  {'training':>10s}"
    if missed is not None:
        rows = [f"{row}  {100 * share:6.1f} %" for row, share in zip(rows, missed, strict=True)]
        head = f"{head}  {'missed':>8s}"
        notes = [
            "missed: eigenvalues are those of the matrix itself; functions are fits of its eigenvectors, and "
            "residuals are those of the fits"
        ]
    rows = [f"{row}{'  *' * bool(star)}" for row, star in zip(rows, unconverged, strict=True)]
    if unconverged.any():
        tells = "its residual or its basis error" if missed is None else "what its function misses"
        notes.append(f"* not converged, as {tells} tells{advice}")
    return "\n".join([head, *rows, *notes, *[note] * bool(note)])


def _rounded(value: float, error: float, largest: float) -> str:
    """The value to one digit beyond its error, but at least six digits; 0 if it is zero up to rounding."""
    if abs(value) <= 1e-9 * largest:
        return "0"
    before_the_point = math.floor(math.log10(abs(value))) + 1
    places = 1 - math.floor(math.log10(error)) if 0 < error < math.inf else 0
    digits = min(max(6, before_the_point + places), 11)
    return f"{value:.{digits}g}" if digits == 6 else f"{value:.{max(digits - before_the_point, 0)}f}"

"""When eigenvalues are good enough: `tol`, and what it is relative to."""

import warnings

import numpy as np
from jaxtyping import Bool, Float

from eigenax.modes import Modes
from eigenax.stop_reason import StopReason

FIRST, NEXT = 0.05, 1.3
"""The share of its steps after which a long run is first looked at for its errors, and then after each this many times
as many."""
ZERO = 10
"""Eigenvalues that are all smaller than so many of their errors may be zero."""
DOUBTED = 0.01
"""A residual that speaks of an error of this share of the scale, or more, is believed rather than a smaller error."""


def scales(
    values: Float[np.ndarray, " n"], errors: Float[np.ndarray, " n"], next_value: float | None
) -> Float[np.ndarray, " n"]:
    """What the error of each eigenvalue is compared with: its size or the range of all, whichever is larger.

    Energies have no natural zero: excitations are differences, and a small eigenvalue among large ones is as good as
    its error is small beside these. Where all are zero, for all that their errors tell, it is the range up to the next
    value, if that is known.

    >>> scales(np.array([-1.0, 0.0, 1.0]), np.zeros(3), None), scales(np.zeros(1), np.zeros(1), 4.0)
    (array([2., 2., 2.]), array([4.]))
    >>> scales(np.full(1, 0.1), np.ones(1), None)
    array([0.1])
    """
    scale = np.maximum(np.abs(values), np.ptp(values))
    if next_value is not None and (scale <= ZERO * errors).all():
        scale = np.maximum(scale, abs(next_value - values[0]))
    return np.maximum(scale, np.finfo(float).tiny)


def within(modes: Modes, tol: float) -> Bool[np.ndarray, " n"]:
    """Which eigenvalues are known to a relative accuracy of tol, by their own errors: error ≤ tol · scale."""
    return relative_errors(modes) <= tol


def doubted(modes: Modes, tol: float | None) -> Bool[np.ndarray, " n"]:
    """Which ones are marked as not converged, or missed the tol if there is one."""
    return modes.unconverged if tol is None else modes.unconverged | ~within(modes, tol)


def relative_errors(modes: Modes) -> Float[np.ndarray, " n"]:
    """Error over scale; infinite where one of the two errors is not known, since nothing then says how small it is."""
    errors = np.hypot(modes.sampling_errors, modes.basis_errors)
    scale = scales(modes.eigenvalues, errors, modes.next_eigenvalue)
    by_residual = modes.distances
    errors = np.where(by_residual > DOUBTED * scale, np.maximum(errors, by_residual), errors)
    return np.where(np.isnan(errors), np.inf, errors / scale)


def is_due(before: int, after: int, total: int) -> bool:
    """Whether the errors are to be looked at after this step: of a long run, not after each.

    >>> [step for step in range(1, 101) if is_due(step - 1, step, 100)]
    [5, 7, 9, 11, 15, 19, 25, 32, 41, 54, 69, 90, 100]
    """
    marks = FIRST * total * NEXT ** np.arange(64)
    return total < 1 / FIRST or after >= total or bool(((before < marks) & (marks <= after)).any())


def tell_of_missed(modes: Modes, tol: float) -> None:
    """Warn where tol was not reached: which modes, how far off they may be, and what to try."""
    missed = ~within(modes, tol)
    if not missed.any():
        return
    numbers = ", ".join(str(k + 1) for k in np.flatnonzero(missed)[:8]) + ("" if missed.sum() <= 8 else ", …")
    worst = float(relative_errors(modes).max())
    known = f"known to {worst:.2g} only" if worst < 1 else "not known to a single digit"
    # The note has been told already.
    try_this = "" if modes.note else f". Take {(modes.stop_reason or StopReason.TOL).advice}"
    which = f"mode {numbers} of {modes.n} is" if missed.sum() == 1 else f"modes {numbers} of {modes.n} are"
    warnings.warn(
        f"tol = {tol:g} was not reached ({modes.stop_reason}): {which} {known}{try_this}",
        RuntimeWarning,
        stacklevel=3,
    )

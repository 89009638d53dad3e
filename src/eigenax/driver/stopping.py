"""When eigenvalues are accurate enough: `tol`, and the scale to which it is relative."""

import warnings

import numpy as np
from jaxtyping import Bool, Float

from eigenax.modes import Modes
from eigenax.stop_reason import StopReason

FIRST_CHECK = 0.05
"""The errors of a long run are first checked after this share of its steps."""
CHECK_RATIO = 1.3
"""Each further check comes after this many times as many steps as the one before."""
ZERO_WITHIN = 10
"""If all eigenvalues are smaller than this many of their errors, they may all be zero."""
TRUSTED_RESIDUAL = 0.01
"""If the residual implies an error above this share of the scale, it is trusted more than a smaller error estimate."""


def scales(
    values: Float[np.ndarray, " n"], errors: Float[np.ndarray, " n"], next_value: float | None
) -> Float[np.ndarray, " n"]:
    """The scale of the error of each eigenvalue: its absolute value or the range of all, whichever is larger.

    Energies have no natural zero, and only their differences, the excitations, matter. So the error of a small
    eigenvalue among large ones need only be small compared with the large ones. If all eigenvalues may be zero within
    their errors, the scale is the range up to the next eigenvalue, if that is known.

    >>> scales(np.array([-1.0, 0.0, 1.0]), np.zeros(3), None), scales(np.zeros(1), np.zeros(1), 4.0)
    (array([2., 2., 2.]), array([4.]))
    >>> scales(np.full(1, 0.1), np.ones(1), None)
    array([0.1])
    """
    scale = np.maximum(np.abs(values), np.ptp(values))
    if next_value is not None and (scale <= ZERO_WITHIN * errors).all():
        scale = np.maximum(scale, abs(next_value - values[0]))
    return np.maximum(scale, np.finfo(float).tiny)


def within_tol(modes: Modes, tol: float) -> Bool[np.ndarray, " n"]:
    """Which eigenvalues have an estimated error of at most tol · scale."""
    return relative_errors(modes) <= tol


def doubted(modes: Modes, tol: float | None) -> Bool[np.ndarray, " n"]:
    """Which eigenvalues are marked as not converged or, if there is a tol, have not reached it."""
    return modes.unconverged if tol is None else modes.unconverged | ~within_tol(modes, tol)


def relative_errors(modes: Modes) -> Float[np.ndarray, " n"]:
    """Error divided by scale, from the sampling error, the basis error and the residual.

    It is infinite where the sampling or the basis error is unknown, since the error may then be of any size.
    """
    errors = np.hypot(modes.sampling_errors, modes.basis_errors)
    scale = scales(modes.eigenvalues, errors, modes.next_eigenvalue)
    by_residual = modes.distances
    errors = np.where(by_residual > TRUSTED_RESIDUAL * scale, np.maximum(errors, by_residual), errors)
    return np.where(np.isnan(errors), np.inf, errors / scale)


def is_due(before: int, after: int, total: int) -> bool:
    """Whether to check the errors after this step. In a long run they are not checked after every step.

    >>> [step for step in range(1, 101) if is_due(step - 1, step, 100)]
    [5, 7, 9, 11, 15, 19, 25, 32, 41, 54, 69, 90, 100]
    """
    marks = FIRST_CHECK * total * CHECK_RATIO ** np.arange(64)
    return total < 1 / FIRST_CHECK or after >= total or bool(((before < marks) & (marks <= after)).any())


def tell_of_missed(modes: Modes, tol: float) -> None:
    """Warn if tol was not reached: which modes missed it, how accurate they are, and what to try."""
    missed = ~within_tol(modes, tol)
    if not missed.any():
        return
    numbers = ", ".join(str(k + 1) for k in np.flatnonzero(missed)[:8]) + ("" if missed.sum() <= 8 else ", …")
    worst = float(relative_errors(modes).max())
    known = f"known to {worst:.2g} only" if worst < 1 else "not known to a single digit"
    # The note, of which the user has been warned already, says what to try.
    try_this = "" if modes.note else f". Take {(modes.stop_reason or StopReason.TOL).advice}"
    which = f"mode {numbers} of {modes.n} is" if missed.sum() == 1 else f"modes {numbers} of {modes.n} are"
    warnings.warn(
        f"tol = {tol:g} was not reached ({modes.stop_reason}): {which} {known}{try_this}",
        RuntimeWarning,
        stacklevel=3,
    )

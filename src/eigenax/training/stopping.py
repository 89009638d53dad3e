"""When to stop: residuals small enough, or no longer falling."""

import numpy as np
from jaxtyping import Float

TOLERANCE, STALLED, STEPS = (
    "the residuals are within the tolerance",
    "the residuals no longer fall",
    "all steps are done",
)
REASONS = ("", TOLERANCE, STALLED, STEPS)
FALL = 0.8
"""Residuals that are not down to this much of what they were have not fallen."""


def why_stop(
    before: Float[np.ndarray, " n"],
    now: Float[np.ndarray, " n"],
    tolerance: float | None,
    *,
    growing: bool,
    last: bool,
) -> str:
    """The reason to stop after a round, in words, or nothing. More functions than before deserve another round.

    >>> why_stop(np.array([1.0]), np.array([0.9]), None, growing=False, last=False)
    'the residuals no longer fall'
    >>> why_stop(np.array([1.0]), np.array([0.9]), 0.5, growing=False, last=False)
    ''
    """
    if tolerance is not None and (now <= tolerance).all():
        return TOLERANCE
    if last:
        return STEPS
    stalled = tolerance is None and not growing and now.sum() > FALL * before.sum()
    return STALLED if stalled else ""


PATIENCE, LEAST_PATIENCE = 0.5, 100
"""Training that goes on for this share of its steps, and this many, without a new lowest sum of residuals has
stalled. Where the learning rate decays, residuals may fall only in its second half."""
NEW_LOW = 0.98


def follow(lowest: Float[np.ndarray, " 2"], residuals: Float[np.ndarray, " n"], step: int) -> Float[np.ndarray, " 2"]:
    """The lowest sum of residuals so far and its step, after one more look.

    >>> follow(np.array([1.0, 10.0]), np.array([0.2, 0.3]), 20)
    array([ 0.5, 20. ])
    """
    total = float(residuals.sum())
    return np.array([total, step]) if total < NEW_LOW * lowest[0] else np.asarray(lowest)


def why_stop_training(
    lowest: Float[np.ndarray, " 2"],
    residuals: Float[np.ndarray, " n"],
    tolerance: float | None,
    step: int,
    steps: int,
    exact: bool,
) -> str:
    """The reason to stop training, in words, or nothing.

    Where K u is itself an estimate its noise is part of every residual, which then tells nothing about stalling.

    >>> why_stop_training(np.array([0.5, 100.0]), np.array([0.5]), None, 700, 1000, exact=True)
    'the residuals no longer fall'
    >>> why_stop_training(np.array([0.5, 100.0]), np.array([0.5]), None, 600, 1000, exact=True)
    ''
    """
    if tolerance is not None and (residuals <= tolerance).all():
        return TOLERANCE
    if step >= steps:
        return STEPS
    stalled = exact and tolerance is None and step - lowest[1] > max(PATIENCE * steps, LEAST_PATIENCE)
    return STALLED if stalled else ""

"""Whether training has stalled: the sum of residuals no longer falls."""

import numpy as np
from jaxtyping import Float

PATIENCE = 0.5
"""Training has stalled when the sum of residuals has had no new minimum for this share of all steps.

The share is large since residuals may fall only in the second half of a run, where the learning rate decays.
"""
LEAST_PATIENCE = 100
"""Training never counts as stalled before this many steps without a new minimum."""
NEW_MINIMUM = 0.98
"""The sum of residuals is a new minimum if it is below this share of the last one."""


def with_new_minimum(
    lowest: Float[np.ndarray, " 2"], residuals: Float[np.ndarray, " n"], step: int
) -> Float[np.ndarray, " 2"]:
    """Update the lowest sum of residuals so far, and its step, with the residuals of one more step.

    >>> with_new_minimum(np.array([1.0, 10.0]), np.array([0.2, 0.3]), 20)
    array([ 0.5, 20. ])
    """
    total = float(residuals.sum())
    return np.array([total, step]) if total < NEW_MINIMUM * lowest[0] else np.asarray(lowest)


def is_stalled(lowest: Float[np.ndarray, " 2"], step: int, steps: int) -> bool:
    """Whether training has stalled: the lowest sum of residuals was reached long ago.

    Only meaningful where K u is exact: otherwise the noise of its estimate is part of every residual.

    >>> is_stalled(np.array([0.5, 100.0]), 700, 1000), is_stalled(np.array([0.5, 100.0]), 600, 1000)
    (True, False)
    """
    return bool(step - lowest[1] > max(PATIENCE * steps, LEAST_PATIENCE))

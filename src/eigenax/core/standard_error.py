"""The standard error of a mean over time."""

import numpy as np
from jaxtyping import Float

GROUPS = 16
"""How many successive stretches a series is cut into; the scatter of their means gives the standard error."""


def scatter_of(influence: Float[np.ndarray, "time n"]) -> Float[np.ndarray, " n"]:
    """The standard error of a mean over time, from the scatter of the means of successive stretches.

    Rows close in time are correlated: the scatter of single rows, taken as independent, would be too small. NaN where
    there is only one stretch.

    >>> scatter_of(np.repeat([[1.0], [3.0]], 8, axis=0)).round(2)
    array([0.26])
    """
    groups = [part.mean(0) for part in np.array_split(influence, GROUPS) if len(part)]
    enough = len(groups) > 1
    return np.std(groups, axis=0, ddof=1) / np.sqrt(len(groups)) if enough else np.full(influence.shape[1], np.nan)

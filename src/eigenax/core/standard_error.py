"""How far a mean over time may be off."""

import numpy as np
from jaxtyping import Float

GROUPS = 16
"""Stretches of time whose scatter is a standard error."""


def scatter_of(influence: Float[np.ndarray, "time n"]) -> Float[np.ndarray, " n"]:
    """The standard error of a mean over time, whose stretches differ by more than rows that are independent would.

    >>> scatter_of(np.repeat([[1.0], [3.0]], 8, axis=0)).round(2)
    array([0.26])
    """
    groups = [part.mean(0) for part in np.array_split(influence, GROUPS) if len(part)]
    enough = len(groups) > 1
    return np.std(groups, axis=0, ddof=1) / np.sqrt(len(groups)) if enough else np.full(influence.shape[1], np.nan)

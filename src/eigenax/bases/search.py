"""Which of several candidates to try next: the one choice between sharper and more functions."""

import numpy as np
from jaxtyping import Float


def faster_then_more(
    scores: Float[np.ndarray, "more faster"], worse: float = 0.0, enough: float = -np.inf
) -> tuple[int, int] | None:
    """The candidate to try next, given the scores of those that were (less is better), NaN for the others.

    Faster functions, along a row, until one is worse than the best of its row by more than `worse`; then more of them,
    the next row, about as fast as was best, until a row is no better than the one before. Nothing after the last, or
    where a score is at most `enough`.

    >>> scores = np.array([[3.0, 1.0, 2.0, np.nan], [np.nan] * 4])
    >>> faster_then_more(scores)
    (1, 0)
    """
    before, speeds = np.inf, range(scores.shape[1])
    for more, row in enumerate(scores):
        least = np.inf
        for speed in speeds:
            if np.isnan(row[speed]):
                return more, speed
            least = min(least, row[speed])
            if least <= enough:
                return None
            if row[speed] > least + worse:
                break
        if least >= before < np.inf:
            return None
        if np.isfinite(least):
            best = int(np.nanargmin(row))
            before, speeds = least, range(max(best - 1, 0), min(best + 2, len(row)))
    return None

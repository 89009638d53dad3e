"""Which basis to try next: faster (or sharper) functions, or more of them."""

import numpy as np
from jaxtyping import Float


def faster_then_more(
    scores: Float[np.ndarray, "more faster"], worse: float = 0.0, enough: float = -np.inf
) -> tuple[int, int] | None:
    """The indices of the candidate to try next, given scores (less is better) that are NaN for those not yet tried.

    Functions get faster along a row until one is worse than the best of its row by more than `worse`. The next row,
    which has more functions, tries about the best speed. The search ends with None when a row is no better than the one
    before, after the last row, or once a score is at most `enough`.

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

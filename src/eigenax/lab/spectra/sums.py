"""The lowest energies of independent parts together."""

import numpy as np
from jaxtyping import Float


def smallest_sums(parts: Float[np.ndarray, "d n"]) -> Float[np.ndarray, " n"]:
    """The n smallest sums of one entry from each row, ascending, of rows that hold their n smallest in order.

    Rows join one at a time. Of two, the sum of entries i and j (counted from 1) is no smaller than those of the
    i j pairs up to it, so only pairs with i j ≤ n are formed: about n log n of them.

    >>> smallest_sums(np.array([[0.0, 1.0, 4.0, 9.0], [0.0, 2.0, 8.0, 18.0]]))
    array([0., 1., 2., 3.])
    """
    n = parts.shape[1]
    sums = parts[0]
    for part in parts[1:]:
        pairs = [sums[: n // (j + 1)] + part[j] for j in range(n)]
        sums = np.sort(np.concatenate(pairs))[:n]
    return sums

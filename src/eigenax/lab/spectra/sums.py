"""The lowest energies of a system of independent parts."""

import numpy as np
from jaxtyping import Float


def smallest_sums(parts: Float[np.ndarray, "d n"]) -> Float[np.ndarray, " n"]:
    """The n smallest sums of one entry from each row, ascending; the entries of each row must be in ascending order.

    Rows are added one at a time. With entries counted from 1, the sum of entries i and j of two rows is no smaller than
    that of any earlier pair, of which there are i j with itself. So only pairs with i j ≤ n are formed, about n log n.

    >>> smallest_sums(np.array([[0.0, 1.0, 4.0, 9.0], [0.0, 2.0, 8.0, 18.0]]))
    array([0., 1., 2., 3.])
    """
    n = parts.shape[1]
    sums = parts[0]
    for part in parts[1:]:
        pairs = [sums[: n // (j + 1)] + part[j] for j in range(n)]
        sums = np.sort(np.concatenate(pairs))[:n]
    return sums

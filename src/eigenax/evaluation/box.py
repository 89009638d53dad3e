"""The Laplacian on a box."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from eigenax.evaluation.sums import smallest_sums

Boundary = Literal["zero", "free", "periodic"]


def box_energies(
    n: int, lengths: Sequence[float], boundary: Boundary | Sequence[Boundary] = "zero"
) -> Float[np.ndarray, " n"]:
    """The first n eigenvalues of −∇² on a box with these sides, the boundary alike on all axes or given for each.

    An axis of length L adds (πk/L)² with k ≥ 1 where functions are zero at its ends, with k ≥ 0 where their slope
    is, and (2πk/L)², k = 0 once and every k ≥ 1 twice, where it is periodic.

    >>> box_energies(4, (np.pi, np.pi))
    array([2., 5., 5., 8.])
    >>> box_energies(4, (np.pi, 2 * np.pi), ("free", "periodic"))
    array([0., 1., 1., 1.])
    """
    sides = np.array(lengths, np.float64)
    if not (sides.size and np.isfinite(sides).all() and (sides > 0).all()):
        raise ValueError(f"lengths must hold a positive number for each axis; got {lengths}")
    boundaries = [boundary] * len(sides) if isinstance(boundary, str) else boundary
    if len(boundaries) != len(sides) or not set(boundaries) <= set(get_args(Boundary)):
        raise ValueError(
            f"boundary must be {' or '.join(map(repr, get_args(Boundary)))}, or one of them for each of "
            f"{len(sides)} axes; got {boundary!r}"
        )
    i = np.arange(n)
    waves = {"zero": i + 1, "free": i, "periodic": 2 * ((i + 1) // 2)}
    return smallest_sums(np.stack([(np.pi * waves[b] / side) ** 2 for b, side in zip(boundaries, sides, strict=True)]))

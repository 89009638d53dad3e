"""The Laplacian on a box."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from eigenax.domains.box import Boundary, Box, Word
from eigenax.lab.spectra.sums import smallest_sums


def box_energies(
    n: int, lengths: Sequence[float], boundary: Word | Sequence[Boundary] = "dirichlet"
) -> Float[np.ndarray, " n"]:
    """The first n eigenvalues of −∇² on a box with these sides, with one boundary for all axes or one for each.

    An axis of length L adds (πk/L)². With Dirichlet ends k = 1, 2, …, with Neumann ends k = 0, 1, …, and with one of
    each k = 1/2, 3/2, …. A periodic axis adds (2πk/L)², k = 0 once and every k ≥ 1 twice.

    >>> box_energies(4, (np.pi, np.pi))
    array([2., 5., 5., 8.])
    >>> box_energies(4, (np.pi, 2 * np.pi), ("neumann", "periodic"))
    array([0., 1., 1., 1.])
    """
    sides = np.array(lengths, np.float64)
    if not (sides.size and np.isfinite(sides).all() and (sides > 0).all()):
        raise ValueError(f"lengths must hold a positive number for each axis; got {lengths}")
    i, faces = np.arange(n), Box(0.0, sides.tolist(), boundary=boundary).faces
    waves = {"dirichlet": i + 1, "neumann": i, "periodic": 2 * ((i + 1) // 2)}
    each = ((waves[lower] + waves[upper]) / 2 for lower, upper in faces)
    return smallest_sums(np.stack([(np.pi * wave / side) ** 2 for wave, side in zip(each, sides, strict=True)]))

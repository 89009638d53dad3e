"""The harmonic oscillator in any number of dimensions."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from eigenax.lab.spectra.sums import smallest_sums


def oscillator_energies(n: int, stiffness: Sequence[float]) -> Float[np.ndarray, " n"]:
    """The first n energies of −∇² + Σ aᵢ xᵢ² with aᵢ the stiffness of each axis: Σ √aᵢ (2mᵢ + 1), mᵢ ≥ 0.

    >>> oscillator_energies(5, stiffness=(1, 4))
    array([3., 5., 7., 7., 9.])
    """
    a = np.array(stiffness, np.float64)
    if not (a.size and np.isfinite(a).all() and (a > 0).all()):
        raise ValueError(f"stiffness must hold a positive number for each axis; got {stiffness}")
    return smallest_sums(np.sqrt(a)[:, None] * (2 * np.arange(n) + 1))

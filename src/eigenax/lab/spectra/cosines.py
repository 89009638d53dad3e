"""Sums of cosines on a torus, whose axes are independent Mathieu operators."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from eigenax.lab.spectra.sums import smallest_sums


def cosine_energies(n: int, amplitudes: Sequence[float], waves: int = 1) -> Float[np.ndarray, " n"]:
    """The first n eigenvalues of −∇² + Σ c_i cos(waves x_i) on [0, 2π]^d, periodic, with amplitudes c_i.

    >>> cosine_energies(3, [0.0, 0.0]), cosine_energies(2, [1.0]).round(9)
    (array([0., 1., 1.]), array([-0.37848922,  0.91805818]))
    """
    c = np.array(amplitudes, float)
    if not (c.size and np.isfinite(c).all()):
        raise ValueError(f"amplitudes must hold a finite number for each axis; got {amplitudes}")
    if waves < 1:
        raise ValueError(f"waves must be at least 1; got {waves}")
    known = {each: _on_one_axis(n, each, waves) for each in set(c.tolist())}
    return smallest_sums(np.stack([known[each] for each in c.tolist()]))


def _on_one_axis(n: int, amplitude: float, waves: int) -> Float[np.ndarray, " n"]:
    """In the basis exp(ikx), with so many k that the last ones, far above the cosine, matter to no digit."""
    most = n + 2 * int(np.sqrt(abs(amplitude))) + 20 * waves
    k = np.arange(-most, most + 1)
    coupled = np.full(len(k) - waves, amplitude / 2)
    matrix = np.diag(k.astype(float) ** 2) + np.diag(coupled, waves) + np.diag(coupled, -waves)
    return eigh(matrix, eigvals_only=True, subset_by_index=(0, n - 1))

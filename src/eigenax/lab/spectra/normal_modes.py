"""Coupled harmonic oscillators, by their normal modes."""

import numpy as np
from jaxtyping import Float

from eigenax.lab.spectra.sums import smallest_sums

COUPLING = 0.1
"""Strength of the coupling in the system of Thomas and Carrington."""


def normal_mode_energies(n: int, stiffness: Float[np.ndarray, "d d"]) -> Float[np.ndarray, " n"]:
    """The first n energies of −½∇² + ½ xᵀKx: Σ ν_i (m_i + ½), m_i ≥ 0, ν_i² the eigenvalues of K.

    >>> normal_mode_energies(3, np.array([[2.5, 1.5], [1.5, 2.5]]))  # ν = 1 and 2
    array([1.5, 2.5, 3.5])
    """
    squares = np.linalg.eigvalsh(stiffness)
    if not squares.min() > 0:
        raise ValueError(f"stiffness must have positive eigenvalues only; its smallest one is {squares.min():.3g}")
    return smallest_sums(np.sqrt(squares)[:, None] * (np.arange(n) + 0.5))


def coupled_stiffness(dims: int, coupling: float = COUPLING) -> Float[np.ndarray, "d d"]:
    """K of the system of Thomas and Carrington: K_ii = ω_i², K_ij = coupling √(ω_i ω_j), with ω_i = √(i/2), i from 1.

    >>> coupled_stiffness(2).round(3)
    array([[0.5  , 0.084],
           [0.084, 1.   ]])
    """
    frequencies = np.sqrt(np.arange(1, dims + 1) / 2)
    roots = np.sqrt(frequencies)
    return coupling * np.outer(roots, roots) + np.diag(frequencies**2 - coupling * frequencies)

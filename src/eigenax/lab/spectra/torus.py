"""The spectrum of a torus of revolution, numerically to ten digits."""

import math

import numpy as np
import scipy.linalg
from jaxtyping import Float

TOLERANCE = 1e-10
"""Largest change of an eigenvalue, relative to the largest one, at which the basis is large enough."""
HIGHEST_FREQUENCY = 512
"""Highest frequency of θ in the largest basis."""


def torus_spectrum(major: float, minor: float, n: int) -> Float[np.ndarray, " n"]:
    """The first n eigenvalues of −Δ on the torus whose tube of radius r = `minor` is at R = `major` from the axis.

    For u = e^{imφ} v(θ) and ρ = R + r cos θ, −Δu = λu is −(ρ v')'/r² + (m²/ρ) v = λ ρ v, periodic in θ. The Fourier
    basis e^{ikθ} converges exponentially; it is doubled until no eigenvalue moves by more than 1e-10 of the largest.

    >>> torus_spectrum(2.0, 1.0, 4).round(8)
    array([0.        , 0.24936806, 0.24936806, 0.7945678 ])
    """
    if not 0 < minor < major < math.inf:
        raise ValueError(f"a torus needs 0 < minor < major, or it meets itself; got major {major}, minor {minor}")
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}")
    ratio, frequency = minor / major, 8
    coarse = _lowest(ratio, n, frequency)
    while frequency < HIGHEST_FREQUENCY:
        frequency *= 2
        fine = _lowest(ratio, n, frequency)
        if np.abs(fine - coarse).max() <= TOLERANCE * max(1.0, fine[-1]):
            return fine / major**2
        coarse = fine
    raise ValueError(
        f"torus_spectrum({major}, {minor}, {n}) has not converged with frequencies up to {frequency}; "
        "ask for fewer eigenvalues, or a minor radius not so close to the major one"
    )


def _lowest(ratio: float, n: int, frequency: int) -> Float[np.ndarray, " n"]:
    """The first n eigenvalues over all m, for R = 1, from frequencies of θ up to the given one."""
    values, m = np.empty(0), 0
    # Higher m need not be tried once m²/(1 + r)², below which m has no eigenvalue, exceeds the n-th value.
    while len(values) < n or m**2 <= values[n - 1] * (1 + ratio) ** 2:
        of_m = _eigenvalues(ratio, m, n, frequency)
        values = np.sort(np.concatenate([values, *[of_m] * (1 if m == 0 else 2)]))[:n]
        m += 1
    values[0] = 0.0  # of the constant function, exactly
    return values


def _eigenvalues(ratio: float, m: int, n: int, frequency: int) -> Float[np.ndarray, " few"]:
    """The lowest eigenvalues of one m, from the Fourier coefficients of ρ and 1/ρ in closed form."""
    k = np.arange(-frequency, frequency + 1)
    size = len(k)
    mass = scipy.linalg.toeplitz([1.0, ratio / 2, *[0.0] * (size - 2)])
    root = math.sqrt((1 - ratio) * (1 + ratio))
    inverse = scipy.linalg.toeplitz((-ratio / (1 + root)) ** np.arange(size) / root)
    energy = np.outer(k, k) * mass / ratio**2 + m**2 * inverse
    # The largest 1/(λ + 1) instead of the smallest λ, which a thin tube would lose in the rounding errors of k²/r².
    reciprocal = scipy.linalg.eigvalsh(mass, energy + mass, subset_by_index=[max(0, size - n), size - 1])
    return 1 / reciprocal[::-1] - 1

"""One-dimensional Schrödinger operators, solved numerically to nearly the last digit."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import eigh
from scipy.special import roots_legendre

from eigenax.checks import check_returns_number

SIZES = (128, 256, 512, 1024, 2048, 4096)
"""Sizes of the basis, tried in turn."""
TOLERANCE = 1e-11
"""Largest change of an energy, relative to its kinetic part, at which the basis is large enough."""


def line_energies(potential: Callable[[Array], Array], low: float, high: float, n: int) -> Float[np.ndarray, " n"]:
    """The first n energies of −d²/dx² + V on [low, high] with zero boundary values, V a smooth function of (1,).

    The basis doubles until no energy changes by more than 1e-11 of its kinetic part, a scale that neither a
    constant added to V nor an energy near zero affects. A feature of V that is narrower than a hundredth of the
    interval may be missed between the points where V is evaluated.

    >>> line_energies(lambda x: jnp.sum(x**2), -9, 9, n=3).round(10)
    array([1., 3., 5.])
    """
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"an interval needs finite low < high; got low {low}, high {high}")
    if not 1 <= n <= SIZES[-2] // 2:
        raise ValueError(f"n must be at least 1 and at most {SIZES[-2] // 2}; got {n}")
    before, change = np.full(n, np.inf), np.inf
    for size in SIZES:
        if size < 2 * n:
            continue
        energies, kinetic = _in_legendre_basis(potential, low, high, n, size)
        change = np.max(np.abs(energies - before) / kinetic)
        if change <= TOLERANCE:
            return energies
        before = energies
    raise ValueError(
        f"the first {n} energies on [{low}, {high}] still change by {change:.1g} with {SIZES[-1]} functions: "
        "the potential is not smooth, or the interval is much longer than what it holds"
    )


def _in_legendre_basis(
    potential: Callable[[Array], Array], low: float, high: float, n: int, size: int
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Energies and their kinetic parts in the basis P_k − P_{k+2}, k < size, with ∫ φ'ᵢ φ'ⱼ = δᵢⱼ on [−1, 1]."""
    t, weights = roots_legendre(size + 2)
    half = (high - low) / 2
    legendre = np.polynomial.legendre.legvander(t, size + 1)
    basis = (legendre[:, :-2] - legendre[:, 2:]) / np.sqrt(4 * np.arange(size) + 6)
    values = _values(potential, (low + high) / 2 + half * t)
    height = values - values.min()

    def product(weights: np.ndarray, functions: np.ndarray) -> np.ndarray:
        return functions.T @ (weights[:, None] * functions)

    # In the inverse problem M x = H x / E the lowest energies are the largest eigenvalues, and lose no digits.
    hamiltonian = np.eye(size) / half**2 + product(weights * height, basis)
    _, x = eigh(product(weights, basis), hamiltonian, subset_by_index=[size - n, size - 1])
    # Solved once more in the span found, by function values, which lose fewer digits if V is huge at the ends.
    found, kinetic = basis @ x, x.T @ x / half**2
    energies, y = eigh(kinetic + product(weights * height, found), product(weights, found))
    return values.min() + energies, np.diag(y.T @ kinetic @ y)


def _values(potential: Callable[[Array], Array], x: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
    with jax.enable_x64(True):
        points = jnp.asarray(x)[:, None]
        check_returns_number("line_energies(potential)", potential, points[0])
        values = np.asarray(jax.vmap(potential)(points), np.float64)
    if not np.isfinite(values).all():
        where = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"the potential must be finite on the interval; it is {values[where]} at x = {x[where]:.4g}")
    return values

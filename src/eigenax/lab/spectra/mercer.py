"""Kernels under a normal distribution whose eigenvalues and eigenfunctions are known in closed form."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

ROUNDING = 1e-12
"""Eigenvalues below this share of the first may not have a single correct digit."""


class Mercer(NamedTuple):
    """Eigenvalues of K u(x) = E_x'[k(x, x') u(x')], descending, and the orthonormal eigenfunctions at some points."""

    values: Float[np.ndarray, " n"]
    functions: Float[np.ndarray, "points n"]


def rbf_spectrum(n: int, dims: int = 1, length: float = 1.0, spread: float = 1.0) -> Float[np.ndarray, " n"]:
    """The first n eigenvalues of exp(−|x − y|²/(2 length²)) under a normal of standard deviation `spread` on each axis.

    On one axis they are √(2a/A) Bᵏ with a = 1/(4 spread²), b = 1/(2 length²), c = √(a² + 2ab), A = a + b + c and
    B = b/A; in more dimensions products of these, one for each axis.

    >>> rbf_spectrum(3).round(4)
    array([0.618 , 0.2361, 0.0902])
    """
    a, b, c = _rates(length, spread)
    degrees = _degrees(_positive_int("n", n), _positive_int("dims", dims)).sum(1)
    return (2 * a / (a + b + c)) ** (dims / 2) * (b / (a + b + c)) ** degrees.astype(float)


def rbf_modes(x: Float[np.ndarray, "points d"], n: int, length: float = 1.0, spread: float = 1.0) -> Mercer:
    """Eigenvalues and eigenfunctions of the same kernel: products of Hermite polynomials and a Gaussian.

    On one axis (c/a)^¼ exp(−(c − a) x²) H_k(√(2c) x) / √(2ᵏ k!).

    >>> rbf_modes(np.zeros((1, 1)), 2).functions.round(4)
    array([[1.2228, 0.    ]])
    """
    a, _, c = _rates(length, spread)
    degrees = _degrees(_positive_int("n", n), x.shape[1])
    each = _hermite(np.sqrt(2 * c) * x, int(degrees.max())) * np.exp((a - c) * x**2) * (c / a) ** 0.25
    functions = np.prod([each[degrees[:, axis], :, axis] for axis in range(x.shape[1])], axis=0).T
    return Mercer(rbf_spectrum(n, x.shape[1], length, spread), functions)


def polynomial_rank(degree: int, dims: int = 1) -> int:
    """How many eigenvalues of (1 + x·y)^degree are not zero.

    >>> polynomial_rank(3, dims=2)
    10
    """
    return math.comb(_positive_int("degree", degree) + _positive_int("dims", dims), dims)


def polynomial_spectrum(n: int, degree: int, dims: int = 1, spread: float = 1.0) -> Float[np.ndarray, " n"]:
    """The first n eigenvalues of (1 + x·y)^degree under a normal of standard deviation `spread` on each axis.

    The kernel is Σ_α c_α x^α y^α over powers α, and so its eigenvalues are those of the small matrix
    √(c_α c_β) E[x^(α+β)].

    >>> polynomial_spectrum(2, degree=1, spread=2.0)
    array([4., 1.])
    """
    return polynomial_modes(np.zeros((1, dims)), n, degree, spread).values


def polynomial_modes(x: Float[np.ndarray, "points d"], n: int, degree: int, spread: float = 1.0) -> Mercer:
    """Eigenvalues and eigenfunctions of the same kernel: polynomials.

    >>> polynomial_modes(np.array([[2.0]]), 2, degree=1, spread=2.0).functions.round(6)
    array([[1., 1.]])
    """
    dims = x.shape[1]
    if not 1 <= n <= polynomial_rank(degree, dims):
        raise ValueError(
            f"n must be at least 1 and at most {polynomial_rank(degree, dims)}, the rank of a polynomial kernel of "
            f"degree {degree} in {dims} dimensions; got {n}"
        )
    powers = np.array(_with_sum_up_to(degree, dims))
    multinomial = [math.factorial(degree) / math.prod(map(math.factorial, [*p, degree - sum(p)])) for p in powers]
    roots = np.sqrt(multinomial)
    # In units of the spread, so that rounding does not depend on it.
    scale = roots * _positive("spread", spread) ** powers.sum(1).astype(float)
    matrix = np.outer(scale, scale) * _normal_moments(powers[:, None] + powers).prod(-1)
    values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1][:n], vectors[:, ::-1][:, :n]
    if values[-1] < ROUNDING * values[0]:
        least = int((values >= ROUNDING * values[0]).sum())
        raise ValueError(
            f"n must be at most {least}: later eigenvalues of degree {degree} are lost in rounding; got {n}"
        )
    monomials = np.prod((x / spread)[:, None, :] ** powers, axis=-1)
    functions = monomials * scale @ vectors / np.sqrt(values)
    return Mercer(values, functions * np.where(vectors[np.abs(vectors).argmax(0), np.arange(n)] < 0, -1.0, 1.0))


def _rates(length: float, spread: float) -> tuple[float, float, float]:
    """The closed form's a, b and c."""
    a, b = 1 / (4 * _positive("spread", spread) ** 2), 1 / (2 * _positive("length", length) ** 2)
    return a, b, math.sqrt(a**2 + 2 * a * b)


def _degrees(n: int, dims: int) -> Int[np.ndarray, "n d"]:
    """The degrees along each axis of the n products of functions with the lowest total degree."""
    highest = next(m for m in range(n) if math.comb(m + dims, dims) >= n)
    every = sorted(_with_sum_up_to(highest, dims), key=lambda each: (sum(each), tuple(-k for k in each)))
    return np.array(every[:n])


def _with_sum_up_to(most: int, dims: int) -> list[tuple[int, ...]]:
    if dims == 0:
        return [()]
    return [(first, *rest) for first in range(most + 1) for rest in _with_sum_up_to(most - first, dims - 1)]


def _hermite(t: Float[np.ndarray, "points d"], highest: int) -> Float[np.ndarray, "k points d"]:
    """H_k(t) / √(2ᵏ k!) for k up to the highest."""
    found = [np.ones_like(t), math.sqrt(2) * t]
    for k in range(1, highest):
        found.append(math.sqrt(2 / (k + 1)) * t * found[k] - math.sqrt(k / (k + 1)) * found[k - 1])
    return np.stack(found[: highest + 1])


def _normal_moments(powers: Int[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """E[xᵐ] of a standard normal: (m − 1)!! for even m."""
    table = [0.0 if m % 2 else float(math.prod(range(m - 1, 0, -2))) for m in range(int(powers.max()) + 1)]
    return np.array(table)[powers]


def _positive_int(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} must be at least 1; got {value}")
    return value


def _positive(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite; got {value}")
    return value

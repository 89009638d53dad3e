"""The classical method for polynomial potentials: vibrational configuration interaction.

The Hamiltonian is written in a basis of products of harmonic oscillator functions with at most so many quanta in all,
as a sparse matrix, whose lowest eigenvalues SciPy finds. They are never below the exact ones, up to rounding.
"""

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sparse
from jaxtyping import Float, Int
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.sparse.linalg import eigsh

from eigenax.core.blas_threads import few_threads
from eigenax.lab.polynomial import Polynomial

DENSE = 600
"""Number of functions up to which a dense decomposition is fastest."""
FUNCTIONS = 60_000
"""Largest number of functions where the number of quanta is chosen here."""
QUANTA = 24
"""Largest number of quanta chosen here. In few dimensions, more functions would reach into the holes that a potential
without a lower bound has far out."""
REACH = 1.1
"""How far the logarithm of a width may be from that of an oscillator with the quadratic part of the potential."""
Shift = tuple[tuple[int, int], ...]
"""By how many quanta the functions on the two sides of a matrix element differ: (axis, quanta) where they do."""


class VibrationalLevels(NamedTuple):
    """The lowest levels, and what they took."""

    values: Float[np.ndarray, " n"]
    quanta: int
    functions: int
    seconds: float


def vibrational_ci(
    potential: Polynomial,
    n: int,
    quanta: int = 0,
    kinetic: float = 0.5,
    scales: Float[np.ndarray, " d"] | None = None,
) -> VibrationalLevels:
    """The n lowest levels of −kinetic ∇² + V in products of oscillator functions with at most `quanta` quanta.

    `scales` are the widths s_i of the oscillators, whose ground state is exp(−x_i²/(2 s_i²)); by default those of the
    product with the lowest energy. With 0 quanta, as many are taken as `usual_quanta` says.

    >>> quartic = Polynomial.of([(1.0, (0, 0, 0, 0))], dims=1)
    >>> vibrational_ci(quartic, n=2, quanta=40, kinetic=1.0).values.round(6)
    array([1.060362, 3.799673])
    """
    began = time.perf_counter()
    quanta = quanta or usual_quanta(potential.dims, n)
    widths = best_scales(potential, kinetic) if scales is None else scales
    functions = products(potential.dims, quanta)
    if not 1 <= n <= len(functions):
        raise ValueError(
            f"n must be at least 1 and at most {len(functions)}, the number of functions of {quanta} quanta in "
            f"{potential.dims} dimensions; got {n}: take more quanta"
        )
    matrix = hamiltonian(potential.rescaled(widths), kinetic / widths**2, functions)
    return VibrationalLevels(_lowest(matrix, n), quanta, len(functions), time.perf_counter() - began)


def usual_quanta(dims: int, n: int, functions: int = FUNCTIONS, most: int = QUANTA) -> int:
    """The largest number of quanta up to `most` that gives at most so many functions, or the first that gives n.

    >>> usual_quanta(12, 9), usual_quanta(64, 8)
    (7, 3)
    """
    fitting = (quanta for quanta in range(most, 0, -1) if math.comb(quanta + dims, dims) <= functions)
    return max(next(fitting, 0), least_quanta(dims, n))


def least_quanta(dims: int, n: int) -> int:
    """The smallest number of quanta, of at least 1, that gives n functions.

    >>> least_quanta(12, 9), least_quanta(2, 9)
    (1, 3)
    """
    return next(quanta for quanta in itertools.count(1) if math.comb(quanta + dims, dims) >= n)


def best_scales(potential: Polynomial, kinetic: float) -> Float[np.ndarray, " d"]:
    """The widths s_i with which exp(−Σ x_i²/(2 s_i²)) has the lowest energy.

    >>> best_scales(Polynomial.of([(2.0, (0, 0))], dims=1), kinetic=0.5).round(4)  # −½∇² + ½ (2x)²
    array([0.7071])
    """
    powers = potential.exponents
    odd = (powers % 2).any(1)
    double_factorials = [[math.prod(range(k - 1, 0, -2)) / 2 ** (k / 2) for k in row] for row in powers.tolist()]
    means = np.where(odd, 0.0, potential.coefficients * np.prod(double_factorials, axis=1))

    def energy(logs: np.ndarray) -> tuple[float, np.ndarray]:
        kinetic_parts = kinetic / 2 * np.exp(-2 * logs)
        terms = means * np.exp(powers @ logs)
        return float(kinetic_parts.sum() + terms.sum()), powers.T @ terms - 2 * kinetic_parts

    alone = (powers == 2) & (powers.sum(1) == 2)[:, None]
    squares = np.abs(potential.coefficients @ alone)
    start = np.log(kinetic / np.where(squares > 0, squares, kinetic)) / 4
    # A field without a lower bound has its states near the start, from which no step may lead far away.
    bounds = [(each - REACH, each + REACH) for each in start]
    return np.exp(minimize(energy, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def products(dims: int, quanta: int) -> Int[np.ndarray, "functions d"]:
    """The quanta on each axis of all products with at most so many in all.

    >>> products(2, 2).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]
    """
    found, left = np.zeros((1, 0), np.int16), np.array([quanta])
    for _ in range(dims):
        rows = np.repeat(np.arange(len(left)), left + 1)
        starts = np.cumsum(left + 1) - (left + 1)
        here = np.arange(len(rows)) - starts[rows]
        found = np.concatenate([found[rows], here[:, None].astype(np.int16)], axis=1)
        left = left[rows] - here
    return found


def hamiltonian(
    potential: Polynomial, kinetic: Float[np.ndarray, " d"], functions: Int[np.ndarray, "functions d"]
) -> sparse.csr_array:
    """The matrix of Σ kinetic_i p_i² + V(q) between products of functions of the unit oscillator (p² + q²)/2.

    Elements of one shift between their two functions are found together, for all functions at once.
    """
    most, size = int(functions.sum(1).max()), len(functions)
    totals, columns = functions.sum(1), np.ascontiguousarray(functions.T.astype(np.intp))
    # Random 64-bit numbers name the functions; a sum of them names the function that a shift leads to.
    names = np.random.default_rng(0).integers(1, 2**63, potential.dims).astype(np.uint64)
    keys = (columns.astype(np.uint64) * names[:, None]).sum(0, dtype=np.uint64)
    order = np.argsort(keys)
    if (np.diff(keys[order]) == 0).any():
        raise RuntimeError("two basis functions have the same random name")
    entries = []
    for shift, parts in _by_shift(potential, kinetic, most).items():
        stays = totals + sum(by for _, by in shift) <= most
        for axis, by in shift:
            stays &= columns[axis] + by >= 0
        here = np.flatnonzero(stays)
        values = np.zeros(len(here))
        for coefficient, factors in parts:
            product = np.full(len(here), coefficient)
            for axis, elements in factors:
                product *= elements[columns[axis, here]]
            values += product
        step = np.uint64(sum(int(names[axis]) * by for axis, by in shift) % 2**64)
        there = order[np.searchsorted(keys, keys[here] + step, sorter=order)] if shift else here
        entries.append((values, here.astype(np.int32), there.astype(np.int32)))
    values, rows, places = (np.concatenate(part) for part in zip(*entries, strict=True))
    off = rows != places
    rows, places = np.concatenate([rows, places[off]]), np.concatenate([places, rows[off]])
    values = np.concatenate([values, values[off]])
    return sparse.csr_array(sparse.coo_array((values, (rows, places)), (size, size)))


def _by_shift(potential: Polynomial, kinetic: Float[np.ndarray, " d"], most: int) -> dict[Shift, list]:
    """For each shift whose first part is upwards, the terms with it: a coefficient, and the elements on each axis."""
    tables = _matrix_elements(most, int(potential.exponents.max()))
    terms = [
        (float(coefficient), [(axis, tables[int(power)]) for axis, power in enumerate(row) if power])
        for coefficient, row in zip(potential.coefficients, potential.exponents, strict=True)
    ]
    terms += [(float(each), [(axis, tables[-2])]) for axis, each in enumerate(kinetic)]
    found: dict[Shift, list] = defaultdict(list)
    for coefficient, factors in terms:
        for shift, elements in _shifts(factors):
            found[shift].append((coefficient, elements))
    return found


def _shifts(factors: list[tuple[int, dict]]) -> Iterator[tuple[Shift, list]]:
    """The shifts of a product of powers of different coordinates, each with the elements on these axes."""
    axes = [axis for axis, _ in factors]
    for choice in itertools.product(*(table.items() for _, table in factors)):
        shift = tuple((axis, by) for axis, (by, _) in zip(axes, choice, strict=True) if by)
        if not shift or shift[0][1] > 0:
            yield shift, [(axis, elements) for axis, (_, elements) in zip(axes, choice, strict=True)]


def _matrix_elements(most: int, power: int) -> dict[int, dict[int, np.ndarray]]:
    """⟨m + j|q^k|m⟩ for all m ≤ most, by k and j; in place of k = −2 those of p²."""
    size = most + power + 3
    ladder = np.diag(np.sqrt(np.arange(1, size) / 2), 1)
    q, momentum = ladder + ladder.T, ladder.T - ladder  # i times the momentum p
    matrices = {-2: -momentum @ momentum} | {k: np.linalg.matrix_power(q, k) for k in range(power + 1)}
    m = np.arange(most + 1)
    return {
        k: {by: np.where(m + by >= 0, matrix[m + by, m], 0.0) for by in range(-abs(k), abs(k) + 1, 2)}
        for k, matrix in matrices.items()
    }


def _lowest(matrix: sparse.csr_array, n: int) -> Float[np.ndarray, " n"]:
    size: int = matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]
    if size <= max(DENSE, 5 * n):
        with few_threads(size):
            return eigh(matrix.toarray(), eigvals_only=True, subset_by_index=(0, n - 1))
    start, vectors = np.random.default_rng(0).normal(size=size), max(4 * n, 40)
    with few_threads(vectors):
        return np.sort(eigsh(matrix, n, which="SA", v0=start, ncv=vectors, return_eigenvectors=False))

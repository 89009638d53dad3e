"""The lowest eigenvectors of a symmetric sparse matrix in the memory there is, and what else could be among them."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from jaxtyping import Float
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg, splu

DENSE, SHARE = 2000, 5
"""Rows up to which a dense matrix is decomposed, and as what share of all rows the eigenvectors asked for are many."""
LARGEST_DENSE, ROOM = 2**13, 2**27
"""Rows of the largest dense matrix, and numbers in the subspace that eigenvectors are sought in: a gigabyte."""
FILL, FRONT = 2e7, 0.4
"""Entries of the largest factor, and what share of the square of a separator they fill on each level."""
KRYLOV, RESTARTS, BLOCK_STEPS, LOOKS = 60, 100, 500, 10
"""Dimensions of a Krylov subspace at least, how often it is begun anew, steps of LOBPCG, and looks at what is left."""
SHIFT, SAME = 1e-6, 1e-10
"""How far below the spectrum a matrix is inverted, and how much lower what was missed must be, over its size."""

Vectors = Float[np.ndarray, "nodes _"]


class Found(NamedTuple):
    """Eigenpairs, ascending, and what found them."""

    values: Float[np.ndarray, " m"]
    vectors: Vectors
    method: str


def room_for(nodes: int, count: int) -> bool:
    """Whether so many eigenvectors of so many rows can be sought in the memory there is."""
    return nodes <= LARGEST_DENSE or nodes * max(KRYLOV, 2 * (count + 1)) <= ROOM


def lowest_eigenvectors(
    matrix: scipy.sparse.csr_array, count: int, known: Vectors, low: float, size: float, seed: int
) -> Found:
    """The `count` lowest eigenvectors of a matrix whose spectrum is between `low` and `low + size`.

    `known` ones, orthonormal, are left out. Small matrices are decomposed; of larger ones the lowest are found by
    Lanczos' method: of the inverse where the factor is small enough, and otherwise of the matrix itself.
    """
    nodes: int = matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]
    count = min(count, nodes - known.shape[1])
    if nodes <= DENSE or (SHARE * count > nodes and nodes <= LARGEST_DENSE):
        lifted = matrix.toarray() + 2 * (abs(low) + size) * known @ known.T
        values, vectors = scipy.linalg.eigh(lifted, subset_by_index=(0, count - 1), overwrite_a=True)
        return Found(values, vectors, "dense eigh")
    inverted = factor_entries(matrix) <= FILL
    apply = _inverse(matrix, low - SHIFT * size) if inverted else (lambda x: (low + size) * x - matrix @ x)
    rng = np.random.default_rng(seed)
    try:
        found = _ordered(matrix, _largest(apply, known, count, rng))
        for _ in range(LOOKS):
            # One vector to begin with need not have a part of each of several that are alike.
            both = np.concatenate([known, found.vectors], 1)
            if both.shape[1] == nodes:
                break
            other = _ordered(matrix, _largest(apply, both, 1, rng))
            if other.values[0] >= found.values[-1] - SAME * size:
                break
            found = _ordered(matrix, np.concatenate([found.vectors, other.vectors], 1))
            found = Found(found.values[:count], found.vectors[:, :count], "")
        return found._replace(method="eigsh, inverted" if inverted else "eigsh")
    except ArpackNoConvergence:
        return _by_blocks(matrix, known, count, rng)


def _largest(apply: Callable, known: Vectors, count: int, rng: np.random.Generator) -> Vectors:
    """Those of a positive operator that are orthogonal to known ones."""
    nodes = len(known)

    def without(x: np.ndarray) -> np.ndarray:
        return x - known @ (known.T @ x)

    # SciPy's types are those of the abstract class.
    operator: Any = LinearOperator((nodes, nodes), lambda x: without(apply(without(x.ravel()))), dtype=np.float64)  # pyright: ignore
    steps, start = min(nodes, max(KRYLOV, 2 * count + 1)), without(rng.normal(size=nodes))
    vectors = eigsh(operator, count, which="LA", ncv=steps, v0=start, maxiter=RESTARTS)[1]
    return np.linalg.qr(without(vectors))[0]


def _by_blocks(matrix: scipy.sparse.csr_array, known: Vectors, count: int, rng: np.random.Generator) -> Found:
    """As far as LOBPCG comes, which always gives something; residuals tell how far that is."""
    start = rng.normal(size=(len(known), count + max(4, count // 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # how exact it is is told with the result
        vectors = lobpcg(matrix, start, Y=known if known.size else None, largest=False, tol=1e-9, maxiter=BLOCK_STEPS)[
            1
        ]
    found = _ordered(matrix, np.linalg.qr(vectors)[0])
    return Found(found.values[:count], found.vectors[:, :count], "lobpcg")


def _ordered(matrix: scipy.sparse.csr_array, basis: Vectors) -> Found:
    values, rotation = np.linalg.eigh(basis.T @ (matrix @ basis))
    return Found(values, basis @ rotation, "")


def _inverse(matrix: scipy.sparse.csr_array, below: float) -> Callable:
    nodes: int = matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]
    return _factor(matrix - below * scipy.sparse.eye_array(nodes)).solve


def _factor(matrix: scipy.sparse.sparray):
    return splu(
        scipy.sparse.csc_array(matrix),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def factor_entries(matrix: scipy.sparse.csr_array) -> float:
    """About how many entries the factor of a matrix has, from how wide its band is when put in order.

    What parts it into two of the same size, w rows, fills a triangle of w²/2; the parts' own separators are smaller in
    few dimensions, and of about that size in graphs that nothing parts.

    >>> chain = scipy.sparse.diags_array([[1.0] * 9999, [1.0] * 9999], offsets=[1, -1])
    >>> bool(2e4 < factor_entries(scipy.sparse.csr_array(chain)) < 1e6)
    True
    """
    nodes: int = matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    place = np.empty_like(order)
    place[order] = np.arange(nodes)
    rows, columns = matrix.nonzero()
    first = np.arange(nodes)
    np.minimum.at(first, place[rows], place[columns])
    width, levels = float((np.arange(nodes) - first).mean()), np.log2(nodes)
    return matrix.nnz / 2 + levels * (2 * nodes + FRONT * width**2)

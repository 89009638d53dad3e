"""The lowest eigenvectors of a symmetric sparse matrix, in bounded memory, with a search for any that were missed."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from jaxtyping import Float
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg, splu

DENSE = 2000
"""Matrices of at most this many rows are always decomposed as dense ones."""
LARGEST_DENSE = 2**13
"""No matrix of more rows than this is decomposed as a dense one."""
ROWS_PER_VECTOR = 5
"""Between these two sizes, a matrix counts as dense if there are fewer rows than this for each eigenvector sought."""
LARGEST_SUBSPACE = 2**27
"""The most numbers in the vectors of a Krylov subspace: a gigabyte."""
LARGEST_FACTOR = 2e7
"""The most entries that a triangular factor of the shifted matrix may have."""
SEPARATOR_FILL = 0.4
"""The entries that a separator of w rows adds to a factor, as a share of w²."""
KRYLOV = 60
"""The least number of dimensions of a Krylov subspace."""
RESTARTS = 100
"""The most restarts of Lanczos' method."""
BLOCK_STEPS = 500
"""The most steps of LOBPCG."""
MISSED_SEARCHES = 10
"""The most searches for an eigenvector that Lanczos' method missed."""
SHIFT = 1e-6
"""How far below the spectrum the shift of the inverted matrix lies, as a share of the size of the spectrum."""
SAME = 1e-10
"""An eigenvalue was missed if it is lower than the highest one found by this share of the size of the spectrum."""

Vectors = Float[np.ndarray, "nodes _"]


class Found(NamedTuple):
    """Eigenpairs in ascending order, and the method that found them."""

    values: Float[np.ndarray, " m"]
    vectors: Vectors
    method: str


def room_for(nodes: int, count: int) -> bool:
    """Whether the search for `count` eigenvectors of a matrix with `nodes` rows stays within the bounds on memory."""
    return nodes <= LARGEST_DENSE or nodes * max(KRYLOV, 2 * (count + 1)) <= LARGEST_SUBSPACE


def lowest_eigenvectors(
    matrix: scipy.sparse.csr_array, count: int, known: Vectors, low: float, size: float, seed: int
) -> Found:
    """The `count` lowest eigenvectors of a matrix whose spectrum is between `low` and `low + size`.

    `known` eigenvectors, which are orthonormal, are left out. Small matrices are decomposed as dense ones. For larger
    ones Lanczos' method is applied to the inverse if its factor is small enough, and otherwise to the matrix itself.
    """
    nodes: int = matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]
    count = min(count, nodes - known.shape[1])
    if nodes <= DENSE or (ROWS_PER_VECTOR * count > nodes and nodes <= LARGEST_DENSE):
        lifted = matrix.toarray() + 2 * (abs(low) + size) * known @ known.T
        values, vectors = scipy.linalg.eigh(lifted, subset_by_index=(0, count - 1), overwrite_a=True)
        return Found(values, vectors, "dense eigh")
    inverted = factor_entries(matrix) <= LARGEST_FACTOR
    apply = _inverse(matrix, low - SHIFT * size) if inverted else (lambda x: (low + size) * x - matrix @ x)
    rng = np.random.default_rng(seed)
    try:
        found = _ordered(matrix, _largest(apply, known, count, rng))
        for _ in range(MISSED_SEARCHES):
            # Lanczos' method from one start vector may miss some eigenvectors of a degenerate eigenvalue.
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
    """The eigenvectors of the largest eigenvalues of a positive operator, orthogonal to the known ones."""
    nodes = len(known)

    def without(x: np.ndarray) -> np.ndarray:
        return x - known @ (known.T @ x)

    # SciPy's type stubs describe the abstract class, which takes no function.
    operator: Any = LinearOperator((nodes, nodes), lambda x: without(apply(without(x.ravel()))), dtype=np.float64)  # pyright: ignore
    steps, start = min(nodes, max(KRYLOV, 2 * count + 1)), without(rng.normal(size=nodes))
    vectors = eigsh(operator, count, which="LA", ncv=steps, v0=start, maxiter=RESTARTS)[1]
    return np.linalg.qr(without(vectors))[0]


def _by_blocks(matrix: scipy.sparse.csr_array, known: Vectors, count: int, rng: np.random.Generator) -> Found:
    """The lowest eigenvectors by LOBPCG, which returns an approximation even if it has not converged."""
    start = rng.normal(size=(len(known), count + max(4, count // 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the caller reports residuals instead
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
    """About how many entries a triangular factor of a matrix has, from its mean bandwidth w after reordering.

    In nested dissection, a separator of w rows splits the matrix into halves and fills a triangle of w²/2 entries. The
    separators of the halves are smaller in few dimensions, and about as large in graphs without small separators.

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
    return matrix.nnz / 2 + levels * (2 * nodes + SEPARATOR_FILL * width**2)

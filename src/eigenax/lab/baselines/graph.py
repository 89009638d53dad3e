"""Exact eigenvectors of graphs that fit into memory, by dense and sparse methods."""

from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
from jaxtyping import Float, Int
from scipy.sparse.linalg import eigsh, lobpcg

from eigenax.sources.graph import adjacency
from eigenax.sources.graph_data import counts_of, laplacian_of

DENSE = 3000
"""Number of nodes up to which a dense decomposition is fastest."""
MORE = 12
"""Number of eigenvectors computed beyond those asked for, since the last one may belong to a degenerate eigenspace."""
ROUNDING = 1e-11
"""Eigenvalues below this share of the largest diagonal entry are zero up to rounding."""
Method = Literal["dense", "eigsh", "lobpcg"]


class Graph(NamedTuple):
    """The problem L v = λ M v: the Laplacian L, and the diagonal of M, the weight of each node; 0 leaves a node out."""

    laplacian: scipy.sparse.csr_array
    counts: Float[np.ndarray, " nodes"]


class ExactModes(NamedTuple):
    """Eigenvalues, ascending, and eigenvectors of mean square one."""

    values: Float[np.ndarray, " m"]
    vectors: Float[np.ndarray, "nodes m"]


def graph_of(matrix: scipy.sparse.csr_array, measure: str = "nodes") -> Graph:
    """The Laplacian D − A, with nodes weighted equally or by their degrees; a node without edges has weight 0."""
    return Graph(laplacian_of(matrix), counts_of(matrix, measure))


def graph_of_edges(edges: Int[np.ndarray, "edges 2"], nodes: int) -> Graph:
    """The graph of a list of edges, with equal weights of all nodes."""
    return graph_of(adjacency(edges, None, nodes))


def graph_of_steps(before: Int[np.ndarray, " steps"], after: Int[np.ndarray, " steps"], nodes: int) -> Graph:
    """The graph of steps between nodes, each an edge of weight one; nodes are weighted by their degrees."""
    taken = scipy.sparse.coo_array((np.ones(len(before)), (before, after)), (nodes, nodes)).tocsr()
    return graph_of(scipy.sparse.csr_array((taken + taken.T) / 2), "degrees")


def exact_modes(graph: Graph, n: int, method: Method | None = None, seed: int = 0) -> ExactModes:
    """The first n eigenvectors and a few more, by the fastest method unless one is named.

    >>> exact_modes(graph_of_edges(np.array([(0, 1)]), 2), 2).values.round(6)
    array([0., 2.])
    """
    there = graph.counts > 0
    root = np.sqrt(graph.counts[there])
    matrix = scipy.sparse.csr_array(graph.laplacian[there][:, there])
    matrix = scipy.sparse.diags_array(1 / root) @ matrix @ scipy.sparse.diags_array(1 / root)
    count = min(n + MORE, len(root))
    values, vectors = _decomposed(scipy.sparse.csr_array(matrix), count, method, seed)
    values[np.abs(values) < ROUNDING * matrix.diagonal().max()] = 0.0
    full = np.zeros((len(there), count))
    full[there] = vectors / root[:, None] * np.sqrt(graph.counts.sum())
    return ExactModes(values, full)


def _decomposed(
    matrix: scipy.sparse.csr_array, count: int, method: Method | None, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    nodes: int = matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]
    if method == "dense" or (method is None and nodes <= DENSE) or 5 * count > nodes:
        return scipy.linalg.eigh(matrix.toarray(), subset_by_index=(0, count - 1))
    rng = np.random.default_rng(seed)
    if method == "lobpcg":
        values, vectors = lobpcg(matrix, rng.normal(size=(nodes, count)), largest=False, tol=1e-8, maxiter=2000)
    else:
        # Shift and invert near zero finds the smallest eigenvalues; just below zero the matrix is not singular.
        below = -1e-3 * float(matrix.diagonal().mean())
        values, vectors = eigsh(matrix.tocsc(), count, sigma=below, v0=rng.normal(size=nodes))
    order = np.argsort(values)
    return values[order], vectors[:, order]

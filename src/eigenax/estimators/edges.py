"""Check the matrix of edges that a user gives for a graph."""

from typing import Any

import numpy as np
import scipy.sparse

from eigenax.bases.softmax_cells import Adjacency


def symmetric_graph(edges: Any, count: int) -> Adjacency:
    """The matrix that a user gave, made exactly symmetric and without self-loops; an error if it is not a graph."""
    try:
        graph = scipy.sparse.csr_array(edges, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"edges must be a matrix of numbers, sparse or dense; got {type(edges).__name__}") from error
    if graph.shape != (count, count):
        raise ValueError(f"edges must have a row and a column for each row of X, {(count, count)}; got {graph.shape}")
    if not np.isfinite(graph.data).all():
        raise ValueError("edges must be finite; got NaN or infinity")
    if (graph.data < 0).any():
        raise ValueError(f"edges must not be negative, since they say how alike rows are; got {graph.data.min():.3g}")
    unlike = abs(graph - graph.T).max()
    if unlike > 1e-8 * graph.max():
        raise ValueError(f"edges must be symmetric; A and its transpose differ by {unlike:.3g}: give (A + A.T) / 2")
    graph = scipy.sparse.csr_array((graph + graph.T) / 2)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph

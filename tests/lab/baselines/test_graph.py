"""Exact eigenvectors are those of a dense matrix, by every method."""

import numpy as np
import pytest

from eigenax.lab.baselines.graph import exact_modes, graph_of_edges, graph_of_steps
from eigenax.lab.datasets.gridworlds import rooms

GRID = rooms(3, 5)


@pytest.mark.parametrize("method", ["dense", "eigsh", "lobpcg"])
def test_all_methods_agree_with_the_dense_laplacian(method):
    graph = graph_of_edges(GRID.edges(), len(GRID.cells))
    dense = graph.laplacian.toarray()
    found = exact_modes(graph, 6, method)
    np.testing.assert_allclose(found.values[:6], np.linalg.eigvalsh(dense)[:6], atol=1e-7)
    np.testing.assert_allclose(dense @ found.vectors[:, :6], found.vectors[:, :6] * found.values[:6], atol=1e-4)
    np.testing.assert_allclose((found.vectors**2).mean(0), 1, rtol=1e-6)


def test_steps_count_by_where_they_begin_and_end():
    graph = graph_of_steps(np.array([0, 1, 1]), np.array([1, 0, 1]), 3)
    np.testing.assert_allclose(graph.counts, [1, 2, 0])
    np.testing.assert_allclose(graph.laplacian.toarray(), [[1, -1, 0], [-1, 1, 0], [0, 0, 0]])
    np.testing.assert_allclose(exact_modes(graph, 2).values, [0, 1.5])

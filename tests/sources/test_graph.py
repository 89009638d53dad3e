"""Graphs from whatever describes them, and what is wrong with some."""

import networkx
import numpy as np
import pytest
import scipy.sparse

import eigenax as ex
from eigenax.sources.graph import adjacency

PATH = np.array([(0, 1), (1, 2), (2, 3)])
DENSE = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)


@pytest.mark.parametrize(
    "edges",
    [
        PATH,
        np.concatenate([PATH, PATH[:, ::-1]]),
        scipy.sparse.coo_matrix(DENSE),
        networkx.path_graph(4),
        networkx.path_graph("abcd"),
    ],
    ids=["one direction", "both directions", "sparse", "networkx", "networkx with names"],
)
def test_one_graph_in_many_ways(edges):
    np.testing.assert_array_equal(adjacency(edges, None, 4).toarray(), DENSE)


def test_repeated_edges_and_weights_add_up_and_loops_count_once():
    matrix = adjacency([(0, 1), (0, 1), (2, 2), (1, 2)], [1.0, 2.0, 5.0, 4.0], 3).toarray()
    np.testing.assert_array_equal(matrix, [[0, 3, 0], [3, 0, 4], [0, 4, 5]])


def test_lonely_nodes_are_told_and_not_refused():
    with pytest.warns(UserWarning, match="2 of 4 nodes have no edges and are left out"):
        source = ex.Graph([(0, 1)], np.eye(4))
    np.testing.assert_allclose(source.whole().weights, [2, 2, 0, 0])


@pytest.mark.parametrize(
    ("edges", "settings", "said"),
    [
        ([(0, 4)], {}, "edges name node 4, but features has 4 rows, nodes 0 to 3"),
        ([(-1, 2)], {}, "edges name node -1"),
        ([(0, 1, 2)], {}, "edges must be a list of pairs of node numbers"),
        (np.empty((0, 2), int), {}, "at least one edge"),
        ([(0, 1)], {"weights": [-1.0]}, "weights of edges must be positive numbers; got -1"),
        ([(0, 1)], {"weights": [np.nan]}, "weights of edges must be positive numbers"),
        ([(0, 1)], {"weights": [1.0, 2.0]}, "one number for each of 1 edges"),
        ([(0, 1), (1, 0), (1, 2)], {}, "edges must be symmetric"),
        (scipy.sparse.csr_array(np.triu(DENSE)), {}, "edges must be symmetric"),
        (scipy.sparse.csr_array(np.eye(3)), {}, "nodes by nodes, here (4, 4); got (3, 3)"),
        (PATH, {"measure": "edges"}, "measure must be 'nodes' or 'degrees'; got 'edges'"),
    ],
)
def test_what_is_no_graph_is_one_sentence(edges, settings, said):
    with pytest.raises(ValueError) as error:
        ex.Graph(edges, np.eye(4), **settings)
    assert said in str(error.value)


def test_features_that_are_none():
    with pytest.raises(ValueError, match="features contains NaN"):
        ex.Graph(PATH, np.full((4, 2), np.nan))
    with pytest.raises(ValueError, match=r"One number a node is features\[:, None\]"):
        ex.Graph(PATH, np.arange(4.0))


def test_networkx_knows_weights_and_loops_and_a_direction_is_refused():
    graph = networkx.Graph([("a", "b", {"weight": 2.0}), ("b", "b", {"weight": 5.0})])
    np.testing.assert_array_equal(adjacency(graph, None, 2).toarray(), [[0, 2], [2, 5]])
    with pytest.raises(ValueError, match="must be an undirected graph; got a directed one"):
        adjacency(networkx.DiGraph([(0, 1)]), None, 2)
    with pytest.raises(ValueError, match="a matrix or a graph of networkx holds them itself"):
        adjacency(graph, [1.0, 1.0], 2)


def test_nodes_of_networkx_that_may_be_rows_or_not_are_asked_about():
    path, features = networkx.Graph([(3, 4), (0, 1), (1, 2), (2, 3)]), np.arange(5.0)[:, None]
    with pytest.raises(ValueError, match=r"0 to 4 in another order: give list\(graph.edges\)"):
        ex.Graph(path, features)
    rows = ex.Graph(list(path.edges), features).graph.matrix.toarray()
    in_order = ex.Graph(networkx.convert_node_labels_to_integers(path), features).graph.matrix.toarray()
    order = list(path.nodes)
    np.testing.assert_array_equal(in_order, rows[order][:, order])


@pytest.mark.parametrize(
    "edges",
    [
        [(k, (k + 1) % 10) for k in range(10)],
        networkx.cycle_graph(10),
        scipy.sparse.csr_array(networkx.to_numpy_array(networkx.cycle_graph(10))),
    ],
    ids=["list", "networkx", "matrix"],
)
def test_nodes_without_features_are_known_by_their_number(edges):
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph(edges), 3, progress=False)
    np.testing.assert_allclose(modes.eigenvalues[1:], 2 - 2 * np.cos(2 * np.pi / 10), atol=1e-9)

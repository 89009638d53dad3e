"""Graphs that are given whole, against SciPy's eigenvalues of the same matrix; some with walls."""

import networkx as nx
import numpy as np
import scipy.sparse
from scipy.spatial import KDTree

import eigenax as ex
from honesty_problems.base import Found, add, problem, solved
from honesty_problems.references import graph_levels

KIND = "graphs"


def on_graph(weights, features, n: int, measure: str = "nodes") -> Found:
    exact = graph_levels(weights, n, by_degrees=measure == "degrees")
    return solved(ex.GraphLaplacian(), ex.Graph(weights, features, measure=measure), exact)


@problem(KIND, "path", 15)
def path() -> Found:
    exact = 2 - 2 * np.cos(np.pi * np.arange(6) / 60)
    return solved(ex.GraphLaplacian(), ex.Graph([(k, k + 1) for k in range(59)]), exact)


@problem(KIND, "cycle", 15)
def cycle() -> Found:
    exact = 2 - 2 * np.cos(2 * np.pi * np.array([0, 1, 1, 2, 2, 3, 3]) / 100)
    return solved(ex.GraphLaplacian(), ex.Graph([(k, (k + 1) % 100) for k in range(100)]), exact)


def grid_of(free: np.ndarray) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """The graph of neighbouring free cells of a map, and their places."""
    number = np.full(free.shape, -1)
    number[free] = np.arange(free.sum())
    pairs = [(number[:-1], number[1:]), (number[:, :-1], number[:, 1:])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])
    edges = edges[(edges >= 0).all(1)]
    half = scipy.sparse.coo_array((np.ones(len(edges)), edges.T), (free.sum(),) * 2)
    return scipy.sparse.csr_array(half + half.T), np.argwhere(free).astype(float)


def two_rooms(side: int, door: int) -> Found:
    """A square of cells with a wall in its middle, that a door of a few cells leads through."""
    free = np.ones((side, side), bool)
    free[:, side // 2] = False
    free[side // 3 : side // 3 + door, side // 2] = True
    return on_graph(*grid_of(free), 5)


add(KIND, "grid-20x30", 30, lambda: on_graph(*grid_of(np.ones((20, 30), bool)), 6))
add(KIND, "two-rooms-40", 40, lambda: two_rooms(40, 1))
add(KIND, "two-rooms-120", 90, lambda: two_rooms(120, 3))


def geometric(nodes: int, measure: str) -> Found:
    """Points of a square, joined with those that are near: the largest part that holds together."""
    points = np.random.default_rng(0).random((nodes, 2))
    near = KDTree(points).query_pairs(np.sqrt(12 / np.pi / nodes), output_type="ndarray")
    half = scipy.sparse.coo_array((np.ones(len(near)), near.T), (nodes, nodes))
    weights = scipy.sparse.csr_array(half + half.T)
    _, part = scipy.sparse.csgraph.connected_components(weights)
    kept = part == np.bincount(part).argmax()
    return on_graph(weights[kept][:, kept], points[kept], 5, measure)


add(KIND, "geometric-2000", 40, lambda: geometric(2000, "nodes"))
add(KIND, "geometric-2000-degrees", 40, lambda: geometric(2000, "degrees"))
add(KIND, "geometric-20000", 120, lambda: geometric(20000, "nodes"))


@problem(KIND, "random-regular", 30)
def random_regular() -> Found:
    """No feature tells anything of it, and its values lie close together."""
    graph = nx.random_regular_graph(4, 400, seed=0)
    return on_graph(nx.to_scipy_sparse_array(graph, nodelist=range(400)), None, 5)


@problem(KIND, "three-parts", 20)
def three_parts() -> Found:
    """Three rings without an edge between them: three zeros."""
    rings = [(40 * r + k, 40 * r + (k + 1) % 40) for r in range(3) for k in range(40)]
    exact = 2 - 2 * np.cos(2 * np.pi * np.array([0, 0, 0, 1, 1, 1, 1, 1]) / 40)
    return solved(ex.GraphLaplacian(), ex.Graph(rings), exact)


@problem(KIND, "weighted-barbell", 20)
def barbell() -> Found:
    """Two groups in which all know each other, and one weak edge."""
    weights = np.zeros((60, 60))
    weights[:30, :30] = weights[30:, 30:] = 1 - np.eye(30)
    weights[29, 30] = weights[30, 29] = 1e-3
    return on_graph(scipy.sparse.csr_array(weights), None, 4)

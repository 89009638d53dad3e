"""Random walks on a graph, whose steps are pairs of nodes."""

import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.checks import as_array, as_real
from eigenax.core.batch import Pairs
from eigenax.sources.base import HostData, Source
from eigenax.sources.graph_data import WholeGraph

WALK_NODES = 3
"""Nodes in a walk: residuals need two independent estimates of L u, and the node in the middle has two neighbours."""


class Graph(Source):
    """The edges of an undirected graph whose nodes have features, or are known by their number if none are given.

    `edges` is a symmetric sparse matrix of weights, an undirected networkx graph, whose nodes are numbered in its own
    order, or a list of pairs of node numbers. A list holds each edge once, or every edge in both directions; give
    `weights` with it unless all are one. A dense matrix of weights is no edges: give `scipy.sparse.csr_array(matrix)`.
    Two rows of two whole numbers are always read as two pairs. `features` has a row of numbers, or an image, for each
    node.

    `measure` sets the weights of nodes in the inner product. By default they are equal, and `GraphLaplacian` is D − A.
    With `measure="degrees"` they are the degrees, and it is I − D⁻¹A. Nodes without edges have no weight.

    A batch of `size` is that many random walks of three nodes along uniformly drawn edges, with weights that keep
    means unbiased. If `size` is at least the number of nodes, the batch is the whole graph, each node once.

    >>> ring = Graph([(k, (k + 1) % 10) for k in range(10)], features=np.eye(10))
    >>> ring.shape
    (10,)
    """

    features: Float[Array, "nodes ..."]
    first: Int[Array, " entries"]
    """The row of each entry of the weight matrix, in the order of rows."""
    second: Int[Array, " entries"]
    """The column of each entry."""
    pair_weights: Float[Array, " entries"]
    """The entries of the weight matrix, each divided by how often it is drawn."""
    node_weights: Float[Array, " nodes"]
    """The endpoint weight of each node: its weight in the inner product, divided by how often it is drawn."""
    row_starts: Int[Array, " nodes_and_one"]
    """The index of the first entry of each row."""
    nodes: int = eqx.field(static=True)
    """The number of nodes with edges."""
    measure: str = eqx.field(static=True)
    host: HostData[WholeGraph] = eqx.field(static=True)
    is_numbered: bool = eqx.field(static=True)
    draws = Pairs

    def __init__(
        self,
        edges: Any,
        features: Any = None,
        *,
        weights: Any = None,
        measure: str = "nodes",
    ):
        if measure not in {"nodes", "degrees"}:
            raise ValueError(f"measure must be 'nodes' or 'degrees'; got {measure!r}")
        self.is_numbered = features is None
        features = np.arange(_node_count(edges), dtype=float)[:, None] if features is None else features
        self.features = as_real("features", features)
        if self.features.ndim < 2:
            raise ValueError(
                f"features must be an array (nodes, features…); got shape {self.features.shape}. One number a node is "
                "features[:, None]"
            )
        matrix = adjacency(edges, weights, len(self.features))
        counts = np.diff(matrix.indptr)
        self.nodes, entries = int((counts > 0).sum()), matrix.nnz
        if self.nodes < len(counts):
            warnings.warn(
                f"{len(counts) - self.nodes} of {len(counts)} nodes have no edges and are left out", stacklevel=2
            )
        self.row_starts, self.second = jnp.asarray(matrix.indptr, jnp.int32), jnp.asarray(matrix.indices, jnp.int32)
        self.first = jnp.asarray(np.repeat(np.arange(len(counts)), counts), jnp.int32)
        # Entries are drawn uniformly: a node with c of them is drawn once in entries / c times.
        weight_of_node = np.ones(len(counts)) if measure == "nodes" else matrix.sum(1)
        total = self.nodes if measure == "nodes" else matrix.sum()
        self.measure = measure
        self.host = HostData(lambda: WholeGraph(np.asarray(features, np.float64), matrix, measure))
        self.pair_weights = jnp.asarray(matrix.data * (entries / total), float)
        self.node_weights = jnp.asarray(weight_of_node * (entries / total) / np.maximum(counts, 1), float)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one node's features."""
        return self.features.shape[1:]

    @property
    def graph(self) -> WholeGraph | None:
        """All nodes and edges; None if nodes are images."""
        return self.host.data if self.features.ndim == 2 else None

    @property
    def numbered(self) -> bool:
        """Whether nodes are known only by their number, because no features were given."""
        return self.is_numbered

    def whole(self) -> Pairs:
        """Every node and every edge, in both directions."""
        endpoint_weights = self.node_weights[self.first], self.node_weights[self.second]
        return Pairs(self.features, self.first, self.second, self.pair_weights, endpoint_weights)

    def sample(self, key: PRNGKeyArray, size: int) -> Pairs:
        """`size` walks, or the whole graph if it has no more nodes than that."""
        if size >= self.nodes:
            return self.whole()
        at_first, *steps = jax.random.split(key, WALK_NODES)
        node = self.first[jax.random.randint(at_first, (size,), 0, len(self.first))]
        walk, weights = [node], []
        for step in steps:
            begin, end = self.row_starts[node], self.row_starts[node + 1]
            entry = begin + jax.random.randint(step, (size,), 0, end - begin)
            node = self.second[entry]
            walk.append(node)
            weights.append(self.pair_weights[entry])
        nodes = jnp.concatenate(walk)
        index = jnp.arange(size * (WALK_NODES - 1))
        endpoint_weights = self.node_weights[nodes]
        return Pairs(
            self.features[nodes],
            index,
            index + size,
            jnp.concatenate(weights),
            (endpoint_weights[:-size], endpoint_weights[size:]),
        )


def _node_count(edges: Any) -> int:
    """The number of nodes of a graph, from any of its descriptions."""
    if hasattr(edges, "adjacency") and hasattr(edges, "nodes"):
        return len(edges.nodes)
    if scipy.sparse.issparse(edges):
        return edges.shape[0]
    numbers = as_array("edges", edges)  # `adjacency` refuses what is not numbers
    return int(numbers.max(initial=-1)) + 1 if np.issubdtype(numbers.dtype, np.integer) else 0


def adjacency(edges: Any, weights: Any, nodes: int) -> scipy.sparse.csr_array:
    """The symmetric weight matrix of a graph, from any of its descriptions; an error says what is wrong with them."""
    if hasattr(edges, "adjacency") and hasattr(edges, "nodes"):
        edges = _from_networkx(edges)
    if scipy.sparse.issparse(edges):
        if weights is not None:
            raise ValueError("weights belong to a list of edges; a matrix or a graph of networkx holds them itself")
        matrix = scipy.sparse.csr_array(edges, dtype=np.float64)
        if matrix.shape != (nodes, nodes):
            raise ValueError(f"edges must be a matrix of nodes by nodes, here {(nodes, nodes)}; got {matrix.shape}")
    else:
        matrix = _from_list(edges, weights, nodes)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz == 0:
        raise ValueError("edges must hold at least one edge of positive weight; there is none")
    if not (np.isfinite(matrix.data).all() and matrix.data.min() > 0):
        raise ValueError(f"weights of edges must be positive numbers; got {matrix.data.min():g} among them")
    asymmetry = abs(matrix - matrix.T).max()
    if asymmetry > 1e-6 * matrix.data.max():
        raise ValueError(
            f"edges must be symmetric, from i to j as from j to i; they differ by up to {asymmetry:g}. "
            "Symmetrise a matrix A as (A + A.T) / 2, and list every edge once"
        )
    return matrix


def _from_networkx(graph: Any) -> scipy.sparse.csr_array:
    """The weight matrix of a networkx graph, whose nodes are numbered in its own order."""
    if graph.is_directed():
        raise ValueError("edges must be an undirected graph; got a directed one: graph.to_undirected()")
    numbers = {node: number for number, node in enumerate(graph.nodes)}
    if numbers.keys() == set(range(len(numbers))) and any(node != number for node, number in numbers.items()):
        raise ValueError(
            f"the nodes of the graph are 0 to {len(numbers) - 1} in another order: give list(graph.edges) if these are "
            "the rows of features, or networkx.convert_node_labels_to_integers(graph) if row k is its k-th node"
        )
    entries = [(numbers[a], numbers[b], data.get("weight", 1.0)) for a, b, data in graph.edges(data=True)]
    first, second, values = np.array(entries, np.float64).reshape(-1, 3).T
    half = scipy.sparse.coo_array((values, (first.astype(int), second.astype(int))), (len(numbers), len(numbers)))
    return scipy.sparse.csr_array(half + half.T - scipy.sparse.diags_array(half.diagonal()))


def _from_list(edges: Any, weights: Any, nodes: int) -> scipy.sparse.csr_array:
    """The weight matrix of a list of edges, each given once or all in both directions."""
    pairs = np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError(
            "edges must be a list of pairs of node numbers (their weights are weights=…), a graph of networkx, or a "
            f"symmetric sparse matrix; got {pairs.dtype} of shape {pairs.shape}"
        )
    if len(pairs) and not (pairs.min() >= 0 and pairs.max() < nodes):
        wrong = pairs.min() if pairs.min() < 0 else pairs.max()
        raise ValueError(f"edges name node {wrong}, but features has {nodes} rows, nodes 0 to {nodes - 1}")
    values = np.ones(len(pairs)) if weights is None else np.asarray(weights, np.float64)
    if values.shape != (len(pairs),):
        raise ValueError(f"weights must be one number for each of {len(pairs)} edges; got shape {values.shape}")
    listed = scipy.sparse.coo_array((values, pairs.T), (nodes, nodes)).tocsr()
    off_diagonal = listed - scipy.sparse.diags_array(listed.diagonal())
    in_both_directions = off_diagonal.multiply(off_diagonal.T).count_nonzero() > 0
    return listed if in_both_directions else scipy.sparse.csr_array(listed + off_diagonal.T)

"""Softmax cells around k-means centres of features, and graphs of neighbouring rows on which they are measured."""

import dataclasses
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jaxtyping import Array, Float, Int
from scipy.cluster.vq import kmeans2, vq

from eigenax.bases.random_waves import Moments
from eigenax.checks import positive_int
from eigenax.sources.graph import Graph
from eigenax.sources.graph_data import WholeGraph, of_neighbours

SEEN_PER_CELL = 64
"""Rows for each centre that k-means uses."""
ROUNDS = 20
"""The most iterations of k-means."""
AT_ONCE = 2**25
"""Numbers that are held in memory at once."""
DISTANCES = 2**27
"""Distances from rows to centres that SciPy holds in memory at once: more than a thousand cells see fewer rows."""

Adjacency = scipy.sparse.csr_array


class Cells(eqx.Module):
    """The shares of a point in cells around centres c: exp(−rate |x − c|²) over its sum for all centres.

    This is softmax(W (x − origin) + b): a hidden layer whose values are positive and add up to one.

    >>> cells = Cells.around(np.array([[0.0], [1.0]]), rate=3.0)
    >>> cells(jnp.array([0.5]))
    Array([0.5, 0.5], dtype=float32)
    """

    origin: Float[np.ndarray, " d"]
    weights: Float[Array, "m d"]
    biases: Float[Array, " m"]

    @classmethod
    def around(cls, centres: Float[np.ndarray, "m d"], rate: float) -> "Cells":
        """Cells around these centres."""
        origin = centres.mean(0)
        apart = centres - origin
        weights, biases = 2 * rate * apart, -rate * (apart**2).sum(1)
        if np.abs(weights).max(initial=0) > np.finfo(np.float32).max:
            raise ValueError(
                f"features differ by {np.abs(apart).max():.2g} only, and cells as small as that are beyond float32: "
                "multiply features by a number that makes them about 1"
            )
        return cls(origin, jnp.asarray(weights, jnp.float32), jnp.asarray(biases, jnp.float32))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " m"]:
        """The shares of one point."""
        weights, biases, origin = (jnp.asarray(part, x.dtype) for part in (self.weights, self.biases, self.origin))
        return jax.nn.softmax(jnp.matmul(weights, x - origin, precision=jax.lax.Precision.HIGHEST) + biases)

    def of_rows(self, rows: Float[np.ndarray, "p d"]) -> Float[np.ndarray, "p m"]:
        """The shares of each row, in float64."""
        shares = (rows - self.origin) @ np.asarray(self.weights, np.float64).T + np.asarray(self.biases, np.float64)
        shares -= shares.max(1, keepdims=True)
        np.exp(shares, out=shares)
        shares /= shares.sum(1, keepdims=True)
        return shares


def neighbour_graph(rows: Float[np.ndarray, "N d"], neighbours: int) -> Adjacency:
    """(A + Aᵀ)/2, where A connects each row to its nearest neighbours; needs scikit-learn.

    >>> neighbour_graph(np.array([[0.0], [1.0], [5.0]]), 1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    from sklearn.neighbors import kneighbors_graph

    found = scipy.sparse.csr_array(kneighbors_graph(rows, min(neighbours, len(rows) - 1)))
    return scipy.sparse.csr_array((found + found.T) / 2)


def rbf_graph(rows: Float[np.ndarray, "N d"], gamma: float) -> Adjacency:
    """exp(−gamma |x − y|²) between all pairs of different rows; the diagonal is zero.

    >>> rbf_graph(np.array([[0.0], [1.0]]), 1.0).toarray().round(2).tolist()
    [[0.0, 0.37], [0.37, 0.0]]
    """
    affinity = np.exp(-gamma * squared_distances(rows, rows))
    affinity = (affinity + affinity.T) / 2
    np.fill_diagonal(affinity, 0)
    return scipy.sparse.csr_array(affinity)


def squared_distances(rows: Float[np.ndarray, "p d"], others: Float[np.ndarray, "q d"]) -> Float[np.ndarray, "p q"]:
    """|x − y|² of each of the rows and each of the others."""
    origin = others.mean(0)
    rows, others = rows - origin, others - origin
    return ((rows**2).sum(1)[:, None] - 2 * rows @ others.T + (others**2).sum(1)).clip(0)


class Centres(NamedTuple):
    """Centres of cells, and the mean squared distance from a row to the nearest of them."""

    places: Float[np.ndarray, "m d"]
    spread: float

    def cells(self, rate: float) -> Cells:
        """Cells around the centres; the larger the rate, the sharper their borders."""
        return Cells.around(self.places, rate / self.spread if self.spread > 0 else 1.0)


def centres_of(rows: Float[np.ndarray, "N d"], count: int, seed: int) -> Centres:
    """The means of `count` clusters of rows (k-means, from rows that are far from each other); fewer if rows repeat.

    >>> found = centres_of(np.array([[0.0], [0.2], [5.0], [5.2]]), 2, seed=0)
    >>> sorted(found.places.ravel().round(2).tolist())
    [0.1, 5.1]
    """
    rng = np.random.default_rng(seed)
    some = rows[rng.permutation(len(rows))[: min(SEEN_PER_CELL * count, max(count, DISTANCES // count))]]
    origin = some.mean(0)
    rounding = np.finfo(float).eps * np.abs(origin).max()
    some = some - origin
    centres, distances = some[:1], squared_distances(some, some[:1])[:, 0]
    # The same as `kmeans2(…, minit="++")`, which takes distances to all centres anew for each further one.
    while len(centres) < count and distances.max() > 1e-12 * (some**2).mean() + rounding**2:
        drawn = some[rng.choice(len(some), p=distances / distances.sum())][None]
        centres, distances = np.concatenate([centres, drawn]), np.minimum(distances, ((some - drawn) ** 2).sum(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cell that all rows have left stays where it is
        centres, _ = kmeans2(some, centres, iter=ROUNDS, minit="matrix")
    return Centres(centres + origin, float((vq(some, centres)[1] ** 2).mean()))


class FeatureGraph(NamedTuple):
    """Rows of features, one for each node, and symmetric edge weights; nodes weigh their degree, or all the same."""

    rows: Float[np.ndarray, "N d"]
    edges: Adjacency
    by_degree: bool = True

    @classmethod
    def of(cls, data: WholeGraph) -> "FeatureGraph":
        """The graph of the nodes that have weight."""
        counted = data.counts > 0
        matrix = data.matrix if counted.all() else data.matrix[counted][:, counted]
        return cls(data.rows[counted], matrix, data.measure == "degrees")

    @property
    def counts(self) -> Float[np.ndarray, " N"]:
        """The weight of each node."""
        return self.edges.sum(1) if self.by_degree else np.ones(len(self.rows))

    def pieces(self, cells: Cells) -> Iterator[tuple[slice, Float[np.ndarray, "p m"], Float[np.ndarray, "p m"]]]:
        """A few nodes at a time: which, their shares, and the sums of their neighbours' shares, weighted by edges."""
        count, degree = len(self.rows), max(1, self.edges.nnz // len(self.rows))
        room = AT_ONCE // len(cells.biases)
        step = count if count <= room else max(1, room // (1 + degree))
        for start in range(0, count, step):
            part = slice(start, min(count, start + step))
            yield part, cells.of_rows(self.rows[part]), of_neighbours(self.edges[part], cells.of_rows, self.rows)

    def among(self, nodes: Int[np.ndarray, " p"]) -> "FeatureGraph":
        """The graph of some of the nodes.

        Two of them are also joined by paths through one of the other nodes, unless there are too many such paths:
        otherwise a chain would fall into pieces.
        """
        others = np.setdiff1d(np.arange(len(self.rows)), nodes)
        here, across = self.edges[nodes][:, nodes], self.edges[others][:, nodes]
        if 0 < (np.diff(across.indptr).astype(float) ** 2).sum() <= AT_ONCE:
            leaving = self.edges[others].sum(1)
            here = scipy.sparse.csr_array(here + across.T @ scipy.sparse.diags_array(1 / leaving) @ across)
        return FeatureGraph(self.rows[nodes], here, self.by_degree)


def moments_on(graph: FeatureGraph, cells: Cells) -> Moments:
    """The mean and covariance of shares, weighted by nodes, and their changes along edges, ⟨u, (D − A) u⟩."""
    degrees, counts, size = graph.edges.sum(1), graph.counts, len(cells.biases)
    mean, sigma, pi = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    for part, u, neighbours in graph.pieces(cells):
        weighted = u * counts[part, None]
        square = weighted.T @ u
        flow = u.T @ neighbours
        stay = square if graph.by_degree else (u * degrees[part, None]).T @ u
        mean, sigma, pi = mean + weighted.sum(0), sigma + square, pi + stay - (flow + flow.T) / 2
    mean, sigma, pi = (total / counts.sum() for total in (mean, sigma, pi))
    # Shares add up to one, so one combination of them is constant.
    return Moments(mean, sigma - np.outer(mean, mean), pi, min(size, len(graph.rows)) - 1)


@dataclasses.dataclass(frozen=True, eq=False)
class SoftmaxCells:
    """A basis for `RayleighRitz` on a graph: the shares of each node's features in at most `cells` cells.

    The sharpness of the cells and the ridge, a penalty on large coefficients, are chosen so that functions found on two
    thirds of the nodes of `tuned_on` are smoothest on the other third. `tuned_on` is a smaller graph of the same kind;
    by default it is the graph itself. The functions are then found on all nodes.
    """

    cells: int = 256
    tuned_on: Graph | None = None

    def __post_init__(self):
        positive_int("cells", self.cells)
        if self.tuned_on is not None and (not isinstance(self.tuned_on, Graph) or self.tuned_on.graph is None):
            raise ValueError(f"tuned_on must be Graph between rows of numbers; got {self.tuned_on!r}")

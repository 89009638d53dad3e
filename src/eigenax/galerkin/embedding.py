"""The smoothest functions on a graph without training: combinations of its nodes' shares in cells of their features."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jaxtyping import Array, Float, Int

from eigenax.galerkin.edges import of_neighbours
from eigenax.galerkin.random_waves import Moments, Whitened
from eigenax.modes import Modes
from eigenax.training.progress import progress_track

RATES = tuple(2.0 ** (power / 2) for power in range(-6, 5))
"""How sharp the borders of cells are, over the mean squared distance to the nearest centre; held-out nodes choose."""
RIDGES = (1e-3, 1e-6)
"""What large coefficients cost; held-out nodes choose."""
HELD_OUT, LEAST_HELD_OUT = 1 / 3, 20
ROWS_PER_CELL, SEEN_PER_CELL, ROUNDS = 2, 64, 20
"""Rows there must be for each cell, rows that centres are sought among, and how often they move."""
AT_ONCE = 2**25
"""Numbers that are held at once."""

Edges = scipy.sparse.csr_array


class Cells(eqx.Module):
    """How much of a point belongs to each cell, exp(−rate |x − c|²) over the sum for all centres c.

    The same as softmax(W (x − origin) + b): a hidden layer whose values are positive and add up to one.

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
        biases = -rate * (apart**2).sum(1)
        return cls(origin, jnp.asarray(2 * rate * apart, jnp.float32), jnp.asarray(biases, jnp.float32))

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


def neighbour_graph(rows: Float[np.ndarray, "N d"], neighbours: int) -> Edges:
    """(A + Aᵀ)/2 where A joins each row with its nearest others; it needs scikit-learn.

    >>> neighbour_graph(np.array([[0.0], [1.0], [5.0]]), 1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    from sklearn.neighbors import kneighbors_graph

    found = scipy.sparse.csr_array(kneighbors_graph(rows, min(neighbours, len(rows) - 1)))
    return scipy.sparse.csr_array((found + found.T) / 2)


def rbf_graph(rows: Float[np.ndarray, "N d"], gamma: float) -> Edges:
    """exp(−gamma |x − y|²) between all rows, without the diagonal.

    >>> rbf_graph(np.array([[0.0], [1.0]]), 1.0).toarray().round(2).tolist()
    [[0.0, 0.37], [0.37, 0.0]]
    """
    affinity = np.exp(-gamma * squared_distances(rows, rows))
    affinity = (affinity + affinity.T) / 2
    np.fill_diagonal(affinity, 0)
    return scipy.sparse.csr_array(affinity)


def squared_distances(rows: Float[np.ndarray, "p d"], others: Float[np.ndarray, "q d"]) -> Float[np.ndarray, "p q"]:
    """|x − y|² of each row and each other."""
    origin = others.mean(0)
    rows, others = rows - origin, others - origin
    return ((rows**2).sum(1)[:, None] - 2 * rows @ others.T + (others**2).sum(1)).clip(0)


class Centres(NamedTuple):
    """Where cells are, and the mean squared distance from a row to the nearest."""

    places: Float[np.ndarray, "m d"]
    spread: float

    def cells(self, rate: float) -> Cells:
        """Cells around them, whose borders are the sharper the larger the rate."""
        return Cells.around(self.places, rate / self.spread if self.spread > 0 else 1.0)


def centres_of(rows: Float[np.ndarray, "N d"], count: int, seed: int) -> Centres:
    """The means of `count` clusters of rows (k-means, from rows that are far from each other); fewer if rows repeat.

    >>> found = centres_of(np.array([[0.0], [0.2], [5.0], [5.2]]), 2, seed=0)
    >>> sorted(found.places.ravel().round(2).tolist())
    [0.1, 5.1]
    """
    rng = np.random.default_rng(seed)
    some = rows[rng.permutation(len(rows))[: SEEN_PER_CELL * count]]
    centres, distances = some[:1], squared_distances(some, some[:1])[:, 0]
    while len(centres) < count and distances.max() > 1e-12 * max(distances.mean(), (some**2).mean()):
        drawn = some[rng.choice(len(some), p=distances / distances.sum())][None]
        centres, distances = np.concatenate([centres, drawn]), np.minimum(distances, ((some - drawn) ** 2).sum(1))
    nearest = np.zeros(len(some), int)
    for _ in range(ROUNDS):
        nearest, before = _nearest(some, centres), nearest
        if (nearest == before).all():
            break
        members = scipy.sparse.csr_array(
            (np.ones(len(some)), (nearest, np.arange(len(some)))), (len(centres), len(some))
        )
        counts = members.sum(1)[:, None]
        centres = np.where(counts > 0, members @ some / np.maximum(counts, 1), centres)
    return Centres(centres, float(((some - centres[_nearest(some, centres)]) ** 2).sum(1).mean()))


def _nearest(rows: Float[np.ndarray, "p d"], centres: Float[np.ndarray, "m d"]) -> Int[np.ndarray, " p"]:
    apart = centres - centres.mean(0)
    further, step = (apart**2).sum(1) / 2, max(1, AT_ONCE // len(centres))
    parts = [rows[start : start + step] - centres.mean(0) for start in range(0, len(rows), step)]
    return np.concatenate([(further - part @ apart.T).argmin(1) for part in parts])


class Graph(NamedTuple):
    """Rows of features, one for each node, and the symmetric weights between nodes."""

    rows: Float[np.ndarray, "N d"]
    edges: Edges

    def pieces(self, cells: Cells) -> Iterator[tuple[slice, Float[np.ndarray, "p m"], Float[np.ndarray, "p m"]]]:
        """A few nodes at a time, their shares, and the sums of their neighbours' shares, weighted by edges."""
        count, degree = len(self.rows), max(1, self.edges.nnz // len(self.rows))
        room = AT_ONCE // len(cells.biases)
        step = count if count <= room else max(1, room // (1 + degree))
        for start in range(0, count, step):
            part = slice(start, min(count, start + step))
            yield part, cells.of_rows(self.rows[part]), of_neighbours(self.edges[part], cells.of_rows, self.rows)

    def among(self, nodes: Int[np.ndarray, " p"]) -> "Graph":
        """Some of the nodes, with the edges between them and, where these are few, the ways through one of the others.

        Without the latter a chain would fall into pieces.
        """
        others = np.setdiff1d(np.arange(len(self.rows)), nodes)
        here, across = self.edges[nodes][:, nodes], self.edges[others][:, nodes]
        if 0 < (np.diff(across.indptr).astype(float) ** 2).sum() <= AT_ONCE:
            leaving = self.edges[others].sum(1)
            here = scipy.sparse.csr_array(here + across.T @ scipy.sparse.diags_array(1 / leaving) @ across)
        return Graph(self.rows[nodes], here)


def moments_on(graph: Graph, cells: Cells) -> Moments:
    """The mean and covariance of shares under the degrees of nodes, and how they change along edges: (D − A) / tr D."""
    degrees, size = graph.edges.sum(1), len(cells.biases)
    mean, sigma, flow = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    for part, u, neighbours in graph.pieces(cells):
        weighted = u * degrees[part, None]
        mean, sigma, flow = mean + weighted.sum(0), sigma + weighted.T @ u, flow + u.T @ neighbours
    mean, sigma, flow = (total / degrees.sum() for total in (mean, sigma, flow))
    # Shares add up to one: one combination of them is constant.
    return Moments(mean, sigma - np.outer(mean, mean), sigma - (flow + flow.T) / 2, min(size, len(graph.rows)) - 1)


def spectral_cells(
    graph: Graph, n: int, cells: int = 256, seed: int = 0, *, looked_at: Graph | None = None, progress: bool = False
) -> Modes:
    """The n smoothest functions of the nodes of a graph, as functions of their features, without the constant.

    They solve (D − A) v = λ D v among the combinations of shares in `cells` cells (Rayleigh–Ritz in float64), and are
    orthonormal under the degrees D. How sharp cells are, and what large coefficients cost, is what gives the smoothest
    functions on a third of the nodes of `looked_at`, a smaller graph of the same kind or the same one, when found on
    the rest; then all nodes are used.

    >>> t = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    >>> circle = np.stack([np.cos(t), np.sin(t)], 1)
    >>> modes = spectral_cells(Graph(circle, neighbour_graph(circle, 4)), n=2, cells=32)
    >>> np.allclose((np.asarray(modes(circle)) ** 2).sum(1), 2, atol=0.1)  # a circle again
    True
    """
    count = min(cells, max(n + 1, len(graph.rows) // ROWS_PER_CELL))
    rate, ridge = _chosen(graph if looked_at is None else looked_at, count, n, seed, progress)
    centres = centres_of(graph.rows, count, seed)
    network = centres.cells(rate)
    moments = moments_on(graph, network)
    function = _function(Whitened.of(moments, n), moments.mean, ridge, n)
    return _measured(graph, network, function, seed)


def _function(whitened: Whitened, mean: Float[np.ndarray, " m"], ridge: float, n: int) -> Float[np.ndarray, "m n"]:
    """Coefficients of the smoothest functions, of mean zero, in the precision in which they are kept."""
    coefficients = whitened.slowest(ridge, n)
    return (coefficients - mean @ coefficients).astype(np.float32)


def _chosen(graph: Graph, count: int, n: int, seed: int, progress: bool) -> tuple[float, float]:
    """The rate and the ridge whose functions are smoothest on nodes which they were not found on."""
    order = np.random.default_rng(seed).permutation(len(graph.rows))
    cut = int(HELD_OUT * len(order))
    # Few nodes tell more about themselves than a third of them about the others.
    seen, held_out = (order[cut:], order[:cut]) if cut >= max(LEAST_HELD_OUT, 2 * n) else (order, order)
    found_on = graph.among(seen)
    # Cells around nodes that are held out, or of fewer nodes than in the end, would be chosen too wide.
    fewer = min(count * len(seen) // len(order), len(seen) // ROWS_PER_CELL)
    centres = centres_of(found_on.rows, max(n + 1, fewer), seed)
    scores: dict[tuple[int, float], float] = {}

    def tried(numbers: Sequence[int]) -> tuple[int, float]:
        for number in progress_track(numbers, "choosing cells", show=progress):
            cells = centres.cells(RATES[number])
            moments = moments_on(found_on, cells)
            whitened, shares = Whitened.of(moments, n), cells.of_rows(graph.rows)
            for ridge in RIDGES:
                values = shares @ _function(whitened, moments.mean, ridge, n)
                scores[number, ridge] = _roughness(values, graph.edges, held_out)
        return min(scores, key=lambda choice: scores[choice])

    middle, _ = tried(range(0, len(RATES), 2))
    best, ridge = tried([number for number in (middle - 1, middle + 1) if 0 <= number < len(RATES)])
    return RATES[best], ridge


def _roughness(values: Float[np.ndarray, "N n"], edges: Edges, nodes: Int[np.ndarray, " p"]) -> float:
    """The sum of Rayleigh quotients on the edges of some nodes, of what is orthonormal there."""
    here = edges[nodes]
    degrees = here.sum(1)
    v = values[nodes] - degrees @ values[nodes] / degrees.sum()
    changes = values[np.repeat(nodes, np.diff(here.indptr))] - values[here.indices]
    try:
        return float(
            np.trace(np.linalg.solve(v.T @ (v * degrees[:, None]), changes.T @ (changes * here.data[:, None])))
        )
    except np.linalg.LinAlgError:
        return np.inf


def _measured(graph: Graph, network: Cells, function: Float[np.ndarray, "m n"], seed: int) -> Modes:
    """Rayleigh quotients, their standard errors from the scatter between nodes, and residual norms.

    A quotient is a mean over pairs of nodes: what a node adds to it is what all its edges add.
    """
    degrees = graph.edges.sum(1)
    parts = [(u @ function, near @ function) for _, u, near in graph.pieces(network)]
    v, near = (np.concatenate(part) for part in zip(*parts, strict=True))
    of_squares = graph.edges @ v**2
    share = (degrees / degrees.sum())[:, None]
    smoothed = near / degrees[:, None]
    norms = (share * v**2).sum(0)
    values = ((share * v * (v - smoothed)).sum(0) / norms).clip(0)
    own = degrees[:, None] * v**2
    influence = (own + of_squares - 2 * v * near - values * (own + of_squares)) / degrees.sum() / norms
    residuals = np.sqrt((share * (v - smoothed - values * v) ** 2).sum(0) / norms)
    order = np.argsort(values)
    signs = np.where(v.max(0) < -v.min(0), -1, 1).astype(np.float32)
    return Modes(
        network, (function * signs)[:, order], values[order], (np.sqrt(len(v)) * influence.std(0))[order],
        residuals[order], (graph.rows.shape[1],), "smallest", 0, seed, "float64", None, "nothing is trained",
    )  # fmt: skip

"""Graphs, for rows never seen: combinations of the shares that nodes have in cells of their features."""

import dataclasses
import functools
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jaxtyping import Array, Float, Int
from scipy.cluster.vq import kmeans2, vq

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.nodal import Eigenvectors, eigenvectors
from eigenax.bases.random_waves import Moments, signs_of
from eigenax.bases.search import faster_then_more
from eigenax.bases.sizes import Sizes
from eigenax.checks import check_not_constant_alone, positive_int
from eigenax.core.ritz import Pencil, distance_to_exact
from eigenax.core.sparse_eigenvectors import room_for
from eigenax.measurement import Solution
from eigenax.problem import Problem
from eigenax.sources.graph import Graph
from eigenax.sources.graph_data import WholeGraph, of_neighbours

RATES = tuple(2.0 ** (power + between) for between in (0, 0.5) for power in range(-3, 3))
"""How sharp the borders of cells are, over the mean squared distance to the nearest centre, and as many rates between
these; held-out nodes choose."""
ROUGHER = 1.1
"""How much rougher functions may be while still sharper cells are tried."""
RIDGES = (1e-3, 1e-6)
"""What large coefficients cost; held-out nodes choose."""
HELD_OUT, LEAST_HELD_OUT = 1 / 3, 20
ROWS_PER_CELL, SEEN_PER_CELL, ROUNDS = 2, 64, 20
"""Rows there must be for each cell, rows that centres are sought among, and how often they move."""
ENTRIES = 2**24
"""Entries of a graph whose matrix is decomposed."""
AT_ONCE = 2**25
"""Numbers that are held at once."""
DISTANCES = 2**27
"""From rows to centres, which SciPy holds at once: fewer rows are looked at for more than a thousand cells."""

Adjacency = scipy.sparse.csr_array


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
    """(A + Aᵀ)/2 where A joins each row with its nearest others; it needs scikit-learn.

    >>> neighbour_graph(np.array([[0.0], [1.0], [5.0]]), 1).toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    from sklearn.neighbors import kneighbors_graph

    found = scipy.sparse.csr_array(kneighbors_graph(rows, min(neighbours, len(rows) - 1)))
    return scipy.sparse.csr_array((found + found.T) / 2)


def rbf_graph(rows: Float[np.ndarray, "N d"], gamma: float) -> Adjacency:
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
    some = rows[rng.permutation(len(rows))[: min(SEEN_PER_CELL * count, DISTANCES // count)]]
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
    """Rows of features, one for each node, and the symmetric weights between nodes; these may count by degree."""

    rows: Float[np.ndarray, "N d"]
    edges: Adjacency
    by_degree: bool = True

    @classmethod
    def of(cls, data: WholeGraph) -> "FeatureGraph":
        """The nodes that have edges."""
        counted = data.counts > 0
        matrix = data.matrix if counted.all() else data.matrix[counted][:, counted]
        return cls(data.rows[counted], matrix, data.measure == "degrees")

    @property
    def counts(self) -> Float[np.ndarray, " N"]:
        """What each node counts."""
        return self.edges.sum(1) if self.by_degree else np.ones(len(self.rows))

    def pieces(self, cells: Cells) -> Iterator[tuple[slice, Float[np.ndarray, "p m"], Float[np.ndarray, "p m"]]]:
        """A few nodes at a time, their shares, and the sums of their neighbours' shares, weighted by edges."""
        count, degree = len(self.rows), max(1, self.edges.nnz // len(self.rows))
        room = AT_ONCE // len(cells.biases)
        step = count if count <= room else max(1, room // (1 + degree))
        for start in range(0, count, step):
            part = slice(start, min(count, start + step))
            yield part, cells.of_rows(self.rows[part]), of_neighbours(self.edges[part], cells.of_rows, self.rows)

    def among(self, nodes: Int[np.ndarray, " p"]) -> "FeatureGraph":
        """Some of the nodes, with the edges between them and, where these are few, the ways through one of the others.

        Without the latter a chain would fall into pieces.
        """
        others = np.setdiff1d(np.arange(len(self.rows)), nodes)
        here, across = self.edges[nodes][:, nodes], self.edges[others][:, nodes]
        if 0 < (np.diff(across.indptr).astype(float) ** 2).sum() <= AT_ONCE:
            leaving = self.edges[others].sum(1)
            here = scipy.sparse.csr_array(here + across.T @ scipy.sparse.diags_array(1 / leaving) @ across)
        return FeatureGraph(self.rows[nodes], here, self.by_degree)


def moments_on(graph: FeatureGraph, cells: Cells) -> Moments:
    """The mean and covariance of shares under what nodes count, and how they change along edges: ⟨u, (D − A) u⟩."""
    degrees, counts, size = graph.edges.sum(1), graph.counts, len(cells.biases)
    mean, sigma, pi = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    for part, u, neighbours in graph.pieces(cells):
        weighted = u * counts[part, None]
        square = weighted.T @ u
        flow = u.T @ neighbours
        stay = square if graph.by_degree else (u * degrees[part, None]).T @ u
        mean, sigma, pi = mean + weighted.sum(0), sigma + square, pi + stay - (flow + flow.T) / 2
    mean, sigma, pi = (total / counts.sum() for total in (mean, sigma, pi))
    # Shares add up to one: one combination of them is constant.
    return Moments(mean, sigma - np.outer(mean, mean), pi, min(size, len(graph.rows)) - 1)


@dataclasses.dataclass(frozen=True, eq=False)
class SoftmaxCells:
    """A basis for `RayleighRitz` on a graph: the shares of each node's features in at most `cells` cells.

    How sharp cells are, and what large coefficients cost, is what gives the smoothest functions on a third of the nodes
    of `tuned_on`, a smaller graph of the same kind or the same one, when found on the rest; then all nodes are used.
    """

    cells: int = 256
    tuned_on: Graph | None = None

    def __post_init__(self):
        positive_int("cells", self.cells)
        if self.tuned_on is not None and (not isinstance(self.tuned_on, Graph) or self.tuned_on.graph is None):
            raise ValueError(f"tuned_on must be Graph between rows of numbers; got {self.tuned_on!r}")


class OnCells(Discretisation):
    """The smoothest functions of the nodes of a graph as functions of their features, fit for rows never seen.

    Eigenvalues are those of the graph's own matrix, (D − A) v = λ D v, and functions are the combinations of shares in
    cells next to its eigenvectors, orthonormal under what nodes count. Where there are too many edges for that, both
    are of the smoothest combinations. The constant comes first.
    """

    has_use_for: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, problem: Problem, basis: SoftmaxCells, sizes: Sizes):
        graph, factor, self.n = problem.source.graph, problem.operator.differences, problem.n - 1
        assert graph is not None, "asked for before"
        assert factor is not None, "asked for before"
        check_not_constant_alone(problem.n)
        if basis.cells < problem.n:
            raise ValueError(f"SoftmaxCells must have at least n = {problem.n} cells; got {basis.cells}")
        self.graph, self.factor, self.seed = FeatureGraph.of(graph), 2 * factor, problem.seed
        self.cells = min(basis.cells, max(self.n + 1, len(self.graph.rows) // ROWS_PER_CELL))
        tuned_on = basis.tuned_on and basis.tuned_on.graph
        self.tuned_on = self.graph if tuned_on is None else FeatureGraph.of(tuned_on)
        nodes, order = len(self.tuned_on.rows), np.random.default_rng(self.seed).permutation(len(self.tuned_on.rows))
        cut = int(HELD_OUT * nodes)
        # Few nodes tell more about themselves than a third of them about the others.
        seen, self.held_out = (order[cut:], order[:cut]) if cut >= max(LEAST_HELD_OUT, 2 * self.n) else (order, order)
        self.found_on = self.tuned_on.among(seen)
        # Cells around nodes that are held out, or of fewer nodes than in the end, would be chosen too wide.
        fewer = min(self.cells * len(seen) // nodes, len(seen) // ROWS_PER_CELL)
        self.centres = centres_of(self.found_on.rows, max(self.n + 1, fewer), self.seed)
        self.problem, self.count = problem, len(RATES)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences along the edges of a graph, from the smoothest on."""
        known = (problem.operator.differences or 0) * problem.sign > 0 and problem.source.graph is not None
        return None if known else "GraphLaplacian or Slowness on Graph between rows of numbers, for SoftmaxCells"

    def next_trial(self, scores: Float[np.ndarray, " count"]) -> int | None:
        """Sharper cells until functions get rougher, then rates between."""
        table = np.log(scores).reshape(2, -1)
        chosen = faster_then_more(table, np.log(ROUGHER))
        return None if chosen is None else chosen[0] * table.shape[1] + chosen[1]

    def trial(self, number: int, guess: Any) -> Trial:
        """How smooth functions are on nodes which they were not found on, with the better ridge."""
        cells = self.centres.cells(RATES[number])
        moments = moments_on(self.found_on, cells)
        pencil, shares = moments.pencil(self.n), cells.of_rows(self.tuned_on.rows)
        scores = [
            _roughness(shares @ _function(pencil, moments.mean, ridge, self.n), self.tuned_on, self.held_out)
            for ridge in RIDGES
        ]
        ridge = RIDGES[int(np.argmin(scores))]
        return Trial(number, ridge, min(scores), {"cells": len(cells.biases), "rate": RATES[number], "ridge": ridge})

    def solution(self, trial: Trial) -> Solution:
        """On all nodes."""
        cells, exact = self.network(trial), self._exact
        moments = moments_on(self.graph, cells)
        pencil = moments.pencil(self.n)
        if exact is None:
            found = _measured(self.graph, cells, _function(pencil, moments.mean, trial.basis, self.n))
        else:
            function = _next_to(self.graph, cells, pencil, moments, exact.functions)
            found = _measured(self.graph, cells, function, exact)
        constant = np.ones((len(found.coefficients), 1), found.coefficients.dtype)
        values = np.concatenate([[0.0], self.factor * found.values])
        scatter, distance, residuals = (
            np.concatenate([[0.0], abs(self.factor) * part])
            for part in (found.sampling_errors, found.basis_errors, found.residuals)
        )
        coefficients = np.concatenate([constant, found.coefficients], 1)
        missed = None if found.missed is None else np.concatenate([[0.0], found.missed])
        return Solution(values, coefficients, scatter, distance, residuals, missed=missed)

    def network(self, trial: Trial) -> Cells:
        """The cells."""
        return self._all_centres.cells(RATES[trial.number])

    @functools.cached_property
    def _exact(self) -> Eigenvectors | None:
        """Of the graph's matrix, at the nodes that have edges, without the constant."""
        graph = self.problem.source.graph
        assert graph is not None, "asked for before"
        if graph.matrix.nnz > ENTRIES or not room_for(len(graph.rows), self.n + 1):
            return None
        found = eigenvectors(graph.scaled(1.0), self.n + 1, 1, self.seed)
        return found._replace(values=found.values[1:], functions=found.functions[graph.counts > 0, 1:])

    @functools.cached_property
    def _all_centres(self) -> Centres:
        return centres_of(self.graph.rows, self.cells, self.seed)

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """From all nodes."""
        cells = self.network(trial)
        step = max(1, AT_ONCE // len(cells.biases))
        rows = self.graph.rows
        return signs_of(
            cells.of_rows(rows[start : start + step]) @ solution.coefficients for start in range(0, len(rows), step)
        )


def _function(pencil: Pencil, mean: Float[np.ndarray, " m"], ridge: float, n: int) -> Float[np.ndarray, "m n"]:
    """Coefficients of the smoothest functions, of mean zero, in the precision in which they are kept."""
    coefficients = pencil.lowest(n, ridge).coefficients
    return (coefficients - mean @ coefficients).astype(np.float32)


def _next_to(
    graph: FeatureGraph, cells: Cells, pencil: Pencil, moments: Moments, wanted: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, "m n"]:
    """Coefficients of the functions of mean zero nearest to others, made orthonormal as these are."""
    weighted, parts = wanted * (graph.counts / graph.counts.sum())[:, None], []
    for part, shares, _ in graph.pieces(cells):
        parts.append((shares - moments.mean).T @ weighted[part])
    penalised = np.eye(pencil.rank) + RIDGES[-1] * pencil.cost
    nearest = np.linalg.solve(penalised, pencil.whitening.T @ np.sum(parts, axis=0))
    left, _, right = np.linalg.svd(nearest, full_matrices=False)
    coefficients = pencil.whitening @ (left @ right)
    return (coefficients - moments.mean @ coefficients).astype(np.float32)


def _roughness(values: Float[np.ndarray, "N n"], graph: FeatureGraph, nodes: Int[np.ndarray, " p"]) -> float:
    """The sum of Rayleigh quotients on the edges of some nodes, of what is orthonormal there."""
    here, counts = graph.edges[nodes], graph.counts[nodes]
    v = values[nodes] - counts @ values[nodes] / counts.sum()
    changes = values[np.repeat(nodes, np.diff(here.indptr))] - values[here.indices]
    try:
        return float(np.trace(np.linalg.solve(v.T @ (v * counts[:, None]), changes.T @ (changes * here.data[:, None]))))
    except np.linalg.LinAlgError:
        return np.inf


def _measured(
    graph: FeatureGraph, network: Cells, function: Float[np.ndarray, "m n"], exact: Eigenvectors | None = None
) -> Solution:
    """Rayleigh quotients in order, their errors from the scatter between nodes and from residual norms; or, of fits to
    eigenvectors that are known, the latter alone and what they miss.

    A quotient is a mean over pairs of nodes: what a node adds to it is what all its edges add.
    """
    degrees, counts = graph.edges.sum(1)[:, None], graph.counts[:, None]
    parts = [(u @ function, near @ function) for _, u, near in graph.pieces(network)]
    v, near = (np.concatenate(part) for part in zip(*parts, strict=True))
    total, applied = counts.sum(), (degrees * v - near) / counts
    norms = (counts * v**2).sum(0) / total
    if exact is not None:
        n, wanted = len(exact.values), exact.functions
        residuals = np.sqrt((counts * (applied - exact.values * v) ** 2).sum(0) / total / norms)
        rounding = np.full(n, 2 * np.finfo(float).eps * (degrees / counts).max())
        missed = (1 - ((counts * v * wanted).sum(0) / total) ** 2 / norms).clip(0)
        return Solution(exact.values, function, np.zeros(n), rounding, residuals, missed=missed)
    values = ((counts * v * applied).sum(0) / total / norms).clip(0)
    own, of_squares = degrees * v**2, graph.edges @ v**2
    size = own + of_squares if graph.by_degree else 2 * counts * v**2
    influence = (own + of_squares - 2 * v * near - values * size) / total / norms
    residuals = np.sqrt((counts * (applied - values * v) ** 2).sum(0) / total / norms)
    order = np.argsort(values)
    values, residuals = values[order], residuals[order]
    scatter = (np.sqrt(len(v)) * influence.std(0))[order]
    return Solution(values, function[:, order], scatter, distance_to_exact(values, residuals), residuals)

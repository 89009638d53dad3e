"""Graphs with features, for rows never seen: the smoothest combinations of shares in softmax cells."""

import functools
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.nodal import Eigenvectors, eigenvectors
from eigenax.bases.random_waves import Moments, signs_of
from eigenax.bases.search import faster_then_more
from eigenax.bases.sizes import Sizes
from eigenax.bases.softmax_cells import AT_ONCE, Cells, Centres, FeatureGraph, SoftmaxCells, centres_of, moments_on
from eigenax.checks import check_not_constant_alone
from eigenax.core.pencil import Pencil
from eigenax.core.ritz import distance_to_exact
from eigenax.core.sparse_eigenvectors import room_for
from eigenax.measurement.solution import Solution
from eigenax.problem import Problem

RATES = tuple(2.0 ** (power + between) for between in (0, 0.5) for power in range(-3, 3))
"""Sharpness of cells in units of 1 / (the mean squared distance to the nearest centre), first in steps of 2, then in
between; held-out nodes choose."""
ROUGHER = 1.1
"""Sharper cells are tried until functions are rougher than the best by more than this factor."""
RIDGES = (1e-3, 1e-6)
"""Penalties on large coefficients; held-out nodes choose."""
HELD_OUT = 1 / 3
"""The share of the nodes that is held out."""
LEAST_HELD_OUT = 20
"""With fewer held-out nodes than this none are held out."""
ROWS_PER_CELL = 2
"""Nodes that there must be for each cell."""
ENTRIES = 2**24
"""The most matrix entries of a graph whose eigenvectors are computed."""


class OnCells(Discretisation):
    """The smoothest functions on a graph, as functions of the nodes' features that also hold for new rows.

    Eigenvalues are those of the graph's own matrix, (D − A) v = λ D v. Functions are the combinations of shares that
    are nearest to its eigenvectors, orthonormal with respect to the nodes' weights. If the graph has too many edges for
    eigenvectors, both come from the Rayleigh–Ritz problem in the shares. The constant comes first.
    """

    has_use_for: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, problem: Problem, basis: SoftmaxCells, sizes: Sizes):
        graph, factor, self.n = problem.source.graph, problem.operator.differences, problem.n - 1
        assert graph is not None, "why_not has checked this"
        assert factor is not None, "why_not has checked this"
        check_not_constant_alone(problem.n)
        if basis.cells < problem.n:
            raise ValueError(f"SoftmaxCells must have at least n = {problem.n} cells; got {basis.cells}")
        self.graph, self.factor, self.seed = FeatureGraph.of(graph), 2 * factor, problem.seed
        self.cells = min(basis.cells, max(self.n + 1, len(self.graph.rows) // ROWS_PER_CELL))
        tuned_on = basis.tuned_on and basis.tuned_on.graph
        self.tuned_on = self.graph if tuned_on is None else FeatureGraph.of(tuned_on)
        nodes, order = len(self.tuned_on.rows), np.random.default_rng(self.seed).permutation(len(self.tuned_on.rows))
        cut = int(HELD_OUT * nodes)
        # A third of few nodes would be too few to choose by: then all are used both to find and to choose.
        seen, self.held_out = (order[cut:], order[:cut]) if cut >= max(LEAST_HELD_OUT, 2 * self.n) else (order, order)
        self.found_on = self.tuned_on.among(seen)
        # Centres leave out held-out nodes, and there are as many nodes for each as in the end: otherwise too wide cells
        # would be chosen.
        fewer = min(self.cells * len(seen) // nodes, len(seen) // ROWS_PER_CELL)
        self.centres = centres_of(self.found_on.rows, max(self.n + 1, fewer), self.seed)
        self.problem, self.count = problem, len(RATES)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences along the edges of a graph, with the smoothest functions first."""
        known = (problem.operator.differences or 0) * problem.sign > 0 and problem.source.graph is not None
        return None if known else "GraphLaplacian or Slowness on Graph between rows of numbers, for SoftmaxCells"

    def next_trial(self, scores: Float[np.ndarray, " count"]) -> int | None:
        """Sharper cells until functions get rougher, then the rates in between."""
        table = np.log(scores).reshape(2, -1)
        chosen = faster_then_more(table, np.log(ROUGHER))
        return None if chosen is None else chosen[0] * table.shape[1] + chosen[1]

    def trial(self, number: int, guess: Any) -> Trial:
        """Scored by the roughness on held-out nodes, with the better ridge."""
        cells = self.centres.cells(RATES[number])
        moments = moments_on(self.found_on, cells)
        pencil, shares = moments.pencil(self.n), cells.of_rows(self.tuned_on.rows)
        scores = [
            _roughness(shares @ _smoothest(pencil, moments.mean, ridge, self.n), self.tuned_on, self.held_out)
            for ridge in RIDGES
        ]
        ridge = RIDGES[int(np.argmin(scores))]
        return Trial(number, ridge, min(scores), {"cells": len(cells.biases), "rate": RATES[number], "ridge": ridge})

    def solution(self, trial: Trial) -> Solution:
        """The solution on all nodes."""
        cells, exact = self.network(trial), self._exact
        moments = moments_on(self.graph, cells)
        pencil = moments.pencil(self.n)
        if exact is None:
            found = _solution_of(self.graph, cells, _smoothest(pencil, moments.mean, trial.basis, self.n))
        else:
            function = _nearest_to(self.graph, cells, pencil, moments, exact.functions)
            found = _solution_of(self.graph, cells, function, exact)
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
        """The cells around centres of all nodes."""
        return self._all_centres.cells(RATES[trial.number])

    @functools.cached_property
    def _exact(self) -> Eigenvectors | None:
        """The eigenvectors of the graph's matrix, without the constant, at nodes of weight; None if it is too large."""
        graph = self.problem.source.graph
        assert graph is not None, "why_not has checked this"
        if graph.matrix.nnz > ENTRIES or not room_for(len(graph.rows), self.n + 1):
            return None
        found = eigenvectors(graph.scaled(1.0), self.n + 1, 1, self.seed)
        return found._replace(values=found.values[1:], functions=found.functions[graph.counts > 0, 1:])

    @functools.cached_property
    def _all_centres(self) -> Centres:
        return centres_of(self.graph.rows, self.cells, self.seed)

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """Signs from all nodes."""
        cells = self.network(trial)
        step = max(1, AT_ONCE // len(cells.biases))
        rows = self.graph.rows
        return signs_of(
            cells.of_rows(rows[start : start + step]) @ solution.coefficients for start in range(0, len(rows), step)
        )


def _smoothest(pencil: Pencil, mean: Float[np.ndarray, " m"], ridge: float, n: int) -> Float[np.ndarray, "m n"]:
    """Coefficients of the n smoothest functions of mean zero, in float32 as they are stored."""
    coefficients = pencil.lowest(n, ridge).coefficients
    return (coefficients - mean @ coefficients).astype(np.float32)


def _nearest_to(
    graph: FeatureGraph, cells: Cells, pencil: Pencil, moments: Moments, wanted: Float[np.ndarray, "N n"]
) -> Float[np.ndarray, "m n"]:
    """Coefficients of the orthonormal functions of mean zero that are nearest to the wanted ones."""
    weighted, parts = wanted * (graph.counts / graph.counts.sum())[:, None], []
    for part, shares, _ in graph.pieces(cells):
        parts.append((shares - moments.mean).T @ weighted[part])
    penalised = np.eye(pencil.rank) + RIDGES[-1] * pencil.cost
    nearest = np.linalg.solve(penalised, pencil.whitening.T @ np.sum(parts, axis=0))
    left, _, right = np.linalg.svd(nearest, full_matrices=False)
    coefficients = pencil.whitening @ (left @ right)
    return (coefficients - moments.mean @ coefficients).astype(np.float32)


def _roughness(values: Float[np.ndarray, "N n"], graph: FeatureGraph, nodes: Int[np.ndarray, " p"]) -> float:
    """The sum of Rayleigh quotients on the edges of some nodes, of functions made orthonormal there."""
    here, counts = graph.edges[nodes], graph.counts[nodes]
    v = values[nodes] - counts @ values[nodes] / counts.sum()
    changes = values[np.repeat(nodes, np.diff(here.indptr))] - values[here.indices]
    try:
        return float(np.trace(np.linalg.solve(v.T @ (v * counts[:, None]), changes.T @ (changes * here.data[:, None]))))
    except np.linalg.LinAlgError:
        return np.inf


def _solution_of(
    graph: FeatureGraph, network: Cells, function: Float[np.ndarray, "m n"], exact: Eigenvectors | None = None
) -> Solution:
    """Rayleigh quotients in ascending order, with errors from the scatter between nodes and from residuals.

    For fits to `exact` eigenvectors: the exact values, residuals, and what share of each eigenvector its fit misses.
    A quotient is a mean over edges; the influence of a node is that of all its edges.
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

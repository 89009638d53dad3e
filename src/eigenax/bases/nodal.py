"""Graphs, and transitions between recurring states: eigenvectors of the sparse matrix, with a value at each node."""

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse
from jaxtyping import Float
from scipy.sparse.csgraph import connected_components

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.graph import held_out_values, whole_graph
from eigenax.bases.nodal_fit import Fit, fitted
from eigenax.bases.random_waves import signs_of
from eigenax.bases.sizes import Sizes
from eigenax.core.row_keys import distinct
from eigenax.core.sparse_eigenvectors import lowest_eigenvectors, room_for
from eigenax.errors import SingularMomentsError
from eigenax.measurement.solution import Solution
from eigenax.networks.nodal import NodalValues
from eigenax.problem import Problem
from eigenax.sources.graph_data import TransitionData, WholeGraph
from eigenax.stop_reason import StopReason

STEPS_PER_STATE = 8
"""Steps there must be for each state on average if states are known by features: fewer say too little of each."""
MISSED = 0.5
"""A fit that misses more than this share of a function's variance is noted."""


class Eigenvectors(NamedTuple):
    """Eigenvalues from the end that was asked for, and eigenvectors, orthonormal with respect to the nodes' weights."""

    values: Float[np.ndarray, " n"]
    functions: Float[np.ndarray, "nodes n"]
    """Zero at nodes of no weight."""
    next_value: float | None
    """The eigenvalue after the last, if there is one."""
    parts: int
    """The number of connected components."""
    method: str
    """How the eigenvectors were computed."""


class NodalBasis(Discretisation):
    """Functions with any value at each node, so that L v = λ M v is solved exactly.

    Nodes are the distinct rows. If they have features, random waves of these are fitted to the values at the nodes, and
    the fit gives values at other rows.
    """

    has_use_for: ClassVar[frozenset[str]] = frozenset()
    graph: WholeGraph

    @abstractmethod
    def measured(self, found: Eigenvectors) -> Solution:
        """The eigenvectors with their errors."""

    def trial(self, number: int, guess: Any) -> Trial:
        """The eigenvectors, and a fit for rows that are no nodes."""
        p, graph = self.problem, self.graph
        if p.n > graph.rank:
            raise SingularMomentsError(
                f"{p.n} functions cannot be told apart, only {graph.rank} can be: ask for fewer modes, or give "
                "features that tell more nodes apart"
            )
        found = eigenvectors(graph, p.n, int(p.sign), p.seed)
        fit = None if p.source.numbered else fitted(graph, found.functions, p.seed)
        solution = self.measured(found)._replace(next_value=found.next_value, note=_note(found, fit))
        metrics = solution.metrics() | {"nodes": graph.rank, "method": found.method}
        return Trial(number, (found, fit), float(np.nansum(solution.residuals)), metrics, solution, graph.rank)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """DECOMPOSED: there is no other basis to try."""
        return StopReason.DECOMPOSED

    def network(self, trial: Trial) -> NodalValues:
        """The table of values at nodes, and the fit for other rows."""
        (found, fit), there = trial.basis, self.graph.counts > 0
        between = (None, None) if fit is None else (fit.waves.network(), fit.coefficients)
        return NodalValues.of(self.graph.rows[there], found.functions[there], *between)

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """Signs from all nodes."""
        return signs_of([trial.basis[0].functions])


class OnNodes(NodalBasis):
    """The nodes of a graph with their weights; nodes with the same features become one."""

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        self.whole: WholeGraph = whole_graph(problem)
        places, self.numbers = distinct(self.whole.rows)
        self.graph, self.problem, self.count = self.whole.merged(places, self.numbers), problem, 1

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences along the edges of a graph, if there is memory for its eigenvectors."""
        graph = problem.source.graph
        if problem.operator.differences is None or graph is None:
            return "GraphLaplacian or Slowness on Graph between rows of numbers"
        return None if room_for(len(graph.rows), problem.n) else "fewer modes of a graph of this many nodes"

    def measured(self, found: Eigenvectors) -> Solution:
        """The errors are those of rounding, and of giving nodes with the same features the same value."""
        _, distances, residuals = self.whole.quotients(found.functions[self.numbers])
        n = self.problem.n
        return Solution(found.values, np.eye(n), np.zeros(n), distances, residuals)


class OnStates(NodalBasis):
    """The states of a process: transitions are edges, and a state weighs as much as the transitions that it is in."""

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        steps, factor = problem.source.steps, problem.operator.differences
        assert steps is not None, "why_not has checked this"
        assert factor is not None, "why_not has checked this"
        self.states, self.scale = steps.states, 2 * factor
        self.steps = TransitionData(self.states.before[:, None], self.states.after[:, None], self.scale)
        self.graph, self.problem, self.count = self.states.graph(slice(None), self.scale), problem, 1

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences along transitions between states that are numbered, or visited often enough."""
        source = problem.source
        if problem.operator.differences is None or source.steps is None:
            return "GraphLaplacian or Slowness on Transitions between rows of numbers"
        states, steps = source.steps.states, len(source.steps.before)
        again = source.numbered or STEPS_PER_STATE * len(states.rows) <= steps
        return (
            None
            if again and room_for(len(states.rows), problem.n)
            else "Transitions between states that are visited again and again"
        )

    def measured(self, found: Eigenvectors) -> Solution:
        """Errors from the scatter between groups of steps, from a step that was not seen, and from held-out steps."""
        n = self.problem.n
        scatter, residuals = self.steps.errors(_lookup(found.functions), found.values)
        scatter = np.hypot(scatter, self._effect_of_an_unseen_step(found.functions))
        return Solution(found.values, np.eye(n), scatter, np.abs(self._held_out_values() - found.values), residuals)

    def _effect_of_an_unseen_step(self, functions: Float[np.ndarray, "nodes n"]) -> Float[np.ndarray, " n"]:
        """How far one more step moves each value, between the two states that the function tells apart most.

        Scatter does not tell of steps that are possible but were never taken. Among N steps their share is about 1/N at
        most, so that this matters only for few steps.
        """
        span = np.ptp(functions[self.graph.counts > 0], axis=0)
        return abs(self.scale) / 2 * span**2 / len(self.states.before)

    def _held_out_values(self) -> Float[np.ndarray, " n"]:
        """The values, on one half of the steps, of functions found on the other."""
        p, sign = self.problem, int(self.problem.sign)
        half = self.states.graph(self.steps.half(), self.scale)
        if p.n > half.rank:
            return np.full(p.n, sign * np.inf)
        functions = eigenvectors(half, p.n, sign, p.seed).functions
        # A state that this half has not visited gets the mean value of its neighbours that it has.
        nearby = self.graph.matrix * (half.counts > 0)
        unseen = (half.counts == 0) & (nearby.sum(1) > 0)
        functions[unseen] = (nearby @ functions / np.maximum(nearby.sum(1), 1)[:, None])[unseen]
        sigma, pi = self.steps.halves(_lookup(functions), False)[1]
        return held_out_values(sigma, pi, sign)


def eigenvectors(graph: WholeGraph, n: int, sign: int, seed: int) -> Eigenvectors:
    """The first n eigenvectors of L v = λ M v, and the next value; those of λ = 0 are constant on connected parts.

    >>> path = WholeGraph(np.eye(2), scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), "nodes")
    >>> eigenvectors(path, 2, 1, seed=0).values
    array([0., 2.])
    """
    there = graph.counts > 0
    root = np.sqrt(graph.counts[there])
    over = scipy.sparse.diags_array(1 / root)
    matrix = scipy.sparse.csr_array(sign * (over @ graph.laplacian[there][:, there] @ over))
    positive, size = sign * graph.scale > 0, 2 * graph.size
    parts, labels = connected_components(matrix, directed=False)
    constants = _constants(root, labels, min(parts, n + 1)) if positive else np.zeros((len(root), 0))
    many = min(n + 1, len(root)) - constants.shape[1]
    values, vectors, method = np.zeros(constants.shape[1]), constants, "parts alone"
    if many:
        found = lowest_eigenvectors(matrix, many, constants, 0.0 if positive else -size, size, seed)
        values, vectors, method = np.append(values, found.values), np.hstack([constants, found.vectors]), found.method
    functions = np.zeros((len(there), n))
    functions[there] = vectors[:, :n] / root[:, None]
    following = float(sign * values[n]) if len(values) > n else None
    return Eigenvectors(sign * values[:n], functions, following, int(parts), method)


def _constants(root: Float[np.ndarray, " p"], labels: np.ndarray, count: int) -> Float[np.ndarray, "p count"]:
    """√weight times orthonormal functions that are constant on connected parts; the overall constant comes first."""
    on_parts = np.where(labels[:, None] == np.arange(count - 1), 1.0, 0.0)
    basis = np.linalg.qr(root[:, None] * np.hstack([np.ones((len(root), 1)), on_parts]))[0]
    return basis * np.where(basis.sum(0) < 0, -1.0, 1.0)


def _note(found: Eigenvectors, fit: Fit | None) -> str:
    """What the user should know of parts, of convergence and of the fit."""
    notes = []
    if found.parts > 1:
        shared = f"the graph has {found.parts} parts with no edges between them, each with an eigenvalue of 0"
        only_parts = found.functions.shape[1] <= found.parts and not found.values.any()
        notes.append(shared + "; the modes asked for only tell these parts apart: ask for more modes" * only_parts)
    if found.method == "lobpcg":
        notes.append(
            "the graph's matrix is too large to be factored, and its eigenvalues are too close to each other for "
            "Lanczos' method: values and functions are those that LOBPCG reached, and residuals tell how exact they are"
        )
    if fit is not None and fit.missed > MISSED:
        notes.append(
            "functions are exact at nodes alone: at other rows they are a fit by features, which at held-out nodes "
            f"misses up to {100 * min(fit.missed, 1):.0f} % of a function's variance"
        )
    return "; ".join(notes)


def _lookup(functions: Float[np.ndarray, "nodes n"]):
    """The function that looks up values by the numbers of nodes."""
    return lambda numbers: functions[numbers[:, 0].astype(int)]

"""Graphs: random waves of the features of nodes, from all edges or from steps along them."""

from typing import Any

import numpy as np
from jaxtyping import Float

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.node_waves import graph_waves
from eigenax.bases.random_waves import signs_of
from eigenax.bases.sizes import Sizes
from eigenax.core.ritz import CUTOFFS, Pencil, combine
from eigenax.errors import SingularMomentsError
from eigenax.measurement import Solution
from eigenax.networks.base import Compose
from eigenax.problem import Problem
from eigenax.sources.graph_data import Sums, TransitionData, WholeGraph, in_pieces
from eigenax.stop_reason import StopReason

RELATIVE, PATIENCE = 1e-6, 2
"""Residuals of this much of the operator's size need no more waves, nor do so many bases that were worse than one."""
STEPS_PER_WAVE, FULL = 16, 0.6
"""Steps that a wave takes at least; and waves of which so few directions can be told apart span all there is."""
WAVES, MOST = 256, 4096
CUTOFF = CUTOFFS["summed"][0]


class OnFeatures(Discretisation):
    """Waves of rows of features; its data has the moments of functions of these."""

    data: Any

    def told(self, found: Solution) -> dict[str, Any]:
        """What is said of a trial."""
        return found.metrics() | {"waves": len(found.coefficients) - 1}

    def network(self, trial: Trial) -> Compose:
        """The waves and a constant."""
        return trial.basis.network()

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """From all rows."""
        return signs_of(in_pieces(lambda rows: trial.basis.combined(rows, solution.coefficients), self.data.rows))


class OnGraph(OnFeatures):
    """All nodes and edges, where these are too many for eigenvectors of their matrix or a number of waves is asked for.

    Bases are tried until all residuals are a millionth of the operator's size.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        self.data: WholeGraph = whole_graph(problem)
        self.counts = sizes.counts(problem.n, WAVES, MOST)
        self.problem, self.count = problem, len(self.counts)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences along the edges of a graph."""
        known = problem.operator.differences is not None and problem.source.graph is not None
        return None if known else "GraphLaplacian or Slowness on Graph between rows of numbers"

    def trial(self, number: int, guess: Any) -> Trial:
        """The best combinations of waves."""
        p, data, sign = self.problem, self.data, int(self.problem.sign)
        waves = graph_waves(data.rows, data.changes(p.seed), self.counts[number], p.seed)
        sums = data.moments(waves.with_constant, p.progress)
        pencil = Pencil.of(sums.sigma, sign * sums.pi, p.n, CUTOFF, rank=data.rank)
        _, coefficients, next_value = pencil.lowest(p.n).signed(sign)
        functions = np.concatenate(list(in_pieces(lambda rows: waves.combined(rows, coefficients), data.rows)))
        values, distance, residuals = data.quotients(functions)
        found = Solution(values, coefficients, np.zeros(p.n), distance, residuals, next_value)
        return Trial(number, waves, float(residuals.sum()), self.told(found), found, pencil.rank)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Where residuals are small enough, unless a `tol` decides, or there are no further functions."""
        if self.problem.tol is None and (self.solution(trial).residuals <= RELATIVE * self.data.size).all():
            return StopReason.EXACT
        return StopReason.SPANNED if trial.rank == self.data.rank else None


class OnTransitions(OnFeatures):
    """Steps along the edges of a graph that nobody knows: few waves at first, since many find functions that are not
    there.

    Bases are tried until functions that were found on half of the steps get no smoother on the other half.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        steps, factor, n = problem.source.steps, problem.operator.differences, problem.n
        assert steps is not None, "asked for before"
        assert factor is not None, "asked for before"
        self.data: TransitionData = steps.scaled(2 * factor)
        counts, most = sizes.counts(n, WAVES, MOST), max(4 * n, len(steps.before) // STEPS_PER_WAVE)
        if sizes.n_basis is None:
            fewer = [max(4 * n, counts[0] // 2**halved) for halved in range(1, 6)]
            counts = [min(count, most, counts[-1]) for count in (*fewer, *counts)]
        self.counts = sorted(set(counts))
        self.problem, self.count = problem, len(self.counts)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences along recorded steps."""
        known = problem.operator.differences is not None and problem.source.steps is not None
        return None if known else "GraphLaplacian or Slowness on Transitions between rows of numbers"

    def trial(self, number: int, guess: Any) -> Trial:
        """The best combinations of waves on all steps, and how those of one half do on the other."""
        p, data, sign = self.problem, self.data, int(self.problem.sign)
        waves = graph_waves(data.rows, data.changes(p.seed), self.counts[number], p.seed, all_apart=False)
        first, second = data.halves(waves.with_constant, p.progress)
        both = Sums(*(a + b for a, b in zip(first, second, strict=True)))
        pencil = Pencil.of(both.sigma, sign * both.pi, p.n, CUTOFF)
        values, coefficients, next_value = pencil.lowest(p.n).signed(sign)
        elsewhere = _held_out(first, second, p.n, sign)
        scatter, residuals = data.errors(lambda rows: waves.combined(rows, coefficients), values)
        found = Solution(values, coefficients, scatter, np.abs(elsewhere - values), residuals, next_value)
        return Trial(number, waves, float(sign * elsewhere.sum()), self.told(found), found, pencil.rank)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Where more waves are no smoother on other steps, or are no further functions."""
        if trial.number - best.number >= PATIENCE:
            return StopReason.HELD_OUT
        spanned = trial.rank < FULL * len(self.solution(trial).coefficients) and trial is best
        return StopReason.SPANNED if spanned else None


def _held_out(first: Sums, second: Sums, n: int, sign: int) -> Float[np.ndarray, " n"]:
    """The values of what was found on one half of the steps, on the other."""
    coefficients = Pencil.of(first.sigma, sign * first.pi, n, CUTOFF).lowest(n).coefficients
    sigma, pi = (coefficients.T @ part @ coefficients for part in second)
    return values_elsewhere(sigma, pi, sign)


def values_elsewhere(
    sigma: Float[np.ndarray, "n n"], pi: Float[np.ndarray, "n n"], sign: int
) -> Float[np.ndarray, " n"]:
    """Those of functions with these moments, as far from the others as can be where the functions are one there."""
    try:
        return combine(sigma, pi, sign=sign).values
    except SingularMomentsError:  # they are not even independent there
        return np.full(len(sigma), sign * np.inf)


def whole_graph(problem: Problem) -> WholeGraph:
    """The graph of a problem, times the factor that its operator has, with nodes enough."""
    graph, factor = problem.source.graph, problem.operator.differences
    assert graph is not None, "asked for before"
    assert factor is not None, "asked for before"
    whole = graph.scaled(2 * factor)  # that of the Laplacian itself is one half
    whole.check(problem.n)
    return whole

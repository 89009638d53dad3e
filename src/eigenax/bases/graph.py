"""Graphs: random waves of the features of nodes, with all edges known or with recorded steps along them."""

from typing import Any

import numpy as np
from jaxtyping import Float

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.node_waves import graph_waves
from eigenax.bases.random_waves import signs_of
from eigenax.bases.sizes import Sizes
from eigenax.core.pencil import Pencil
from eigenax.core.ritz import combine
from eigenax.core.whitening import CUTOFFS
from eigenax.errors import SingularMomentsError
from eigenax.measurement.solution import Solution
from eigenax.networks.base import Compose
from eigenax.problem import Problem
from eigenax.sources.graph_data import Sums, TransitionData, WholeGraph, in_pieces
from eigenax.stop_reason import StopReason

RELATIVE = 1e-6
"""Residuals below this share of the operator's size are small enough."""
PATIENCE = 2
"""The search ends after this many bases that are worse than the best one."""
STEPS_PER_WAVE = 16
"""Recorded steps that there must be for each wave."""
FULL = 0.6
"""If fewer than this share of the waves are linearly independent, they span all functions there are."""
WAVES, MOST = 256, 4096
"""Waves of the first and of the largest basis, unless numbers are asked for."""
CUTOFF = CUTOFFS["summed"][0]
"""Relative variances below this are rounding: such combinations of waves are dropped."""


class OnFeatures(Discretisation):
    """Random waves of rows of features; `data` computes the moments of functions of these rows."""

    data: Any

    def metrics(self, found: Solution) -> dict[str, Any]:
        """What is logged of a trial."""
        return found.metrics() | {"waves": len(found.coefficients) - 1}

    def network(self, trial: Trial) -> Compose:
        """The waves and a constant."""
        return trial.basis.network()

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """Signs from all rows."""
        return signs_of(in_pieces(lambda rows: trial.basis.combined(rows, solution.coefficients), self.data.rows))


class OnGraph(OnFeatures):
    """A graph with all its edges, if it is too large for sparse eigenvectors or a number of waves is asked for.

    Bases grow until all residuals are below a millionth of the operator's size.
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
        """The Rayleigh–Ritz solution in waves, scored by the sum of its residuals."""
        p, data, sign = self.problem, self.data, int(self.problem.sign)
        waves = graph_waves(data.rows, data.changes(p.seed), self.counts[number], p.seed)
        sums = data.moments(waves.with_constant, p.progress)
        pencil = Pencil.of(sums.sigma, sign * sums.pi, p.n, CUTOFF, rank=data.rank)
        _, coefficients, next_value = pencil.lowest(p.n).signed(sign)
        functions = np.concatenate(list(in_pieces(lambda rows: waves.combined(rows, coefficients), data.rows)))
        values, distance, residuals = data.quotients(functions)
        found = Solution(values, coefficients, np.zeros(p.n), distance, residuals, next_value)
        return Trial(number, waves, float(residuals.sum()), self.metrics(found), found, pencil.rank)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """EXACT if residuals are small enough (unless a `tol` decides), SPANNED if there are no further functions."""
        if self.problem.tol is None and (self.solution(trial).residuals <= RELATIVE * self.data.size).all():
            return StopReason.EXACT
        return StopReason.SPANNED if trial.rank == self.data.rank else None


class OnTransitions(OnFeatures):
    """Recorded steps along the edges of an unknown graph: few waves at first, since many would fit noise.

    Bases grow until functions found on one half of the steps get no smoother on the other half.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        steps, factor, n = problem.source.steps, problem.operator.differences, problem.n
        assert steps is not None, "why_not has checked this"
        assert factor is not None, "why_not has checked this"
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
        """The Rayleigh–Ritz solution on all steps, scored by the values on one half of functions found on the other."""
        p, data, sign = self.problem, self.data, int(self.problem.sign)
        waves = graph_waves(data.rows, data.changes(p.seed), self.counts[number], p.seed, all_apart=False)
        first, second = data.halves(waves.with_constant, p.progress)
        both = Sums(*(a + b for a, b in zip(first, second, strict=True)))
        pencil = Pencil.of(both.sigma, sign * both.pi, p.n, CUTOFF)
        values, coefficients, next_value = pencil.lowest(p.n).signed(sign)
        held_out = _second_half_values(first, second, p.n, sign)
        scatter, residuals = data.errors(lambda rows: waves.combined(rows, coefficients), values)
        found = Solution(values, coefficients, scatter, np.abs(held_out - values), residuals, next_value)
        return Trial(number, waves, float(sign * held_out.sum()), self.metrics(found), found, pencil.rank)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """HELD_OUT if more waves are no smoother on held-out steps, SPANNED if they add no further functions."""
        if trial.number - best.number >= PATIENCE:
            return StopReason.HELD_OUT
        spanned = trial.rank < FULL * len(self.solution(trial).coefficients) and trial is best
        return StopReason.SPANNED if spanned else None


def _second_half_values(first: Sums, second: Sums, n: int, sign: int) -> Float[np.ndarray, " n"]:
    """The values, on the second half of the steps, of functions found on the first."""
    coefficients = Pencil.of(first.sigma, sign * first.pi, n, CUTOFF).lowest(n).coefficients
    sigma, pi = (coefficients.T @ part @ coefficients for part in second)
    return held_out_values(sigma, pi, sign)


def held_out_values(
    sigma: Float[np.ndarray, "n n"], pi: Float[np.ndarray, "n n"], sign: int
) -> Float[np.ndarray, " n"]:
    """The values of functions with these moments on held-out steps, best first.

    Infinitely bad if the functions are linearly dependent there.
    """
    try:
        return combine(sigma, pi, sign=sign).values
    except SingularMomentsError:
        return np.full(len(sigma), sign * np.inf)


def whole_graph(problem: Problem) -> WholeGraph:
    """The graph of a problem, scaled to its operator, after a check that it has enough nodes."""
    graph, factor = problem.source.graph, problem.operator.differences
    assert graph is not None, "why_not has checked this"
    assert factor is not None, "why_not has checked this"
    whole = graph.scaled(2 * factor)  # the graph Laplacian itself has the factor 1/2
    whole.check(problem.n)
    return whole

"""Graphs: random waves of the features of nodes, from all edges or from steps along them."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from eigenax.core.ritz import CUTOFFS, Pencil, combine
from eigenax.errors import SingularMomentsError
from eigenax.galerkin.base import Discretisation, Trial
from eigenax.galerkin.on_nodes import of_all_functions
from eigenax.galerkin.random_waves import RandomWaves, signs_of
from eigenax.galerkin.sizes import Sizes
from eigenax.measurement import Solution
from eigenax.networks.base import OnInputs
from eigenax.problem import Problem
from eigenax.sources.graph_data import StepData, Sums, WholeGraph, in_pieces
from eigenax.stop_reason import StopReason

RELATIVE, PATIENCE = 1e-6, 2
"""Residuals of this much of the operator's size need no more waves, nor do so many bases that were worse than one."""
APART = 1000
"""Rows whose nearest others tell how fast waves must be."""
STEPS_PER_WAVE, FULL = 16, 0.6
"""Steps that a wave takes at least; and waves of which so few directions can be told apart span all there is."""
WAVES, MOST = 256, 4096
EACH, SPANNABLE = 2, 8192
"""Waves for each node of which any function of the nodes is made, and nodes up to which so many are taken."""
CUTOFF = CUTOFFS["summed"][0]


class OnFeatures(Discretisation):
    """Waves of rows of features; its data has the moments of functions of these."""

    data: Any

    def told(self, found: Solution) -> dict[str, Any]:
        """What is said of a trial."""
        return found.told() | {"waves": len(found.coefficients) - 1}

    def network(self, trial: Trial) -> OnInputs:
        """The waves and a constant."""
        return trial.basis.network()

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """From all rows."""
        return signs_of(in_pieces(lambda rows: trial.basis.combined(rows, solution.coefficients), self.data.rows))


class OnGraph(OnFeatures):
    """All nodes and edges. A basis of two waves for each of up to 8192 nodes, whose features differ, spans everything.

    Bases are tried until all residuals are a millionth of the operator's size.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        graph, factor = problem.source.graph, problem.operator.differences
        assert graph is not None, "asked for before"
        assert factor is not None, "asked for before"
        self.data: WholeGraph = graph.scaled(2 * factor)  # that of the Laplacian itself is one half
        if problem.n > self.data.rank:
            raise ValueError(f"n must be at most the number of nodes with edges, {self.data.rank}; got {problem.n}")
        self.counts, self.most = self._counts(problem.n, sizes), max(MOST, sizes.n_basis or 0, sizes.max_basis or 0)
        self.problem, self.count = problem, len(self.counts)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences along the edges of a graph."""
        known = problem.operator.differences is not None and problem.source.graph is not None
        return None if known else "GraphLaplacian or Slowness on Transitions between rows of numbers"

    def _counts(self, n: int, sizes: Sizes) -> list[int]:
        counts, rank = sizes.counts(n, WAVES, MOST), self.data.rank
        if sizes.max_basis is None and self._spans(EACH * rank):
            few, enough, many = rank // EACH, EACH * rank, EACH**3 * rank
            counts = [counts[0], enough, *(count for count in counts if count <= few or enough < count <= many)]
        return sorted(set(counts))

    def _spans(self, count: int) -> bool:
        """Whether any function of the nodes is a combination of so many waves, but for rounding."""
        return self.data.rank <= SPANNABLE and count >= EACH * self.data.rank and self.data.told_apart

    def trial(self, number: int, guess: Any) -> Trial:
        """The best combinations of waves, or, where these span everything, the eigenvectors themselves."""
        return self._tried(number, self.counts[number])

    def _tried(self, number: int, count: int) -> Trial:
        p, data = self.problem, self.data
        waves = graph_waves(data.rows, data.changes(p.seed), count, p.seed)
        functions, sign = waves.with_constant, int(p.sign)
        exact = of_all_functions(data, functions, p.n, sign) if self._spans(count) else None
        if exact is None and count > self.most:  # too many for a matrix of all their products
            return self._tried(number, self.most)
        if exact is None:
            sums = data.moments(functions, p.progress)
            pencil = Pencil.of(sums.sigma, sign * sums.pi, p.n, CUTOFF, rank=data.rank)
            best, rank = pencil.lowest(p.n), pencil.rank
        else:
            best, rank = exact, data.rank
        _, coefficients, next_value = best.signed(sign)
        values, distance, residuals = data.quotients(lambda rows: waves.combined(rows, coefficients))
        found = Solution(values, coefficients, np.zeros(p.n), distance, residuals, next_value)
        return Trial(number, waves, float(residuals.sum()), self.told(found), found, rank)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Where residuals are small enough, unless a `tol` decides, or there are no further functions."""
        if self.problem.tol is None and (self.solution(trial).residuals <= RELATIVE * self.data.size).all():
            return StopReason.EXACT
        return StopReason.SPANNED if trial.rank == self.data.rank else None


class OnSteps(OnFeatures):
    """Steps along the edges of a graph that nobody knows: few waves at first, since many find functions that are not
    there.

    Bases are tried until functions that were found on half of the steps get no smoother on the other half.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        steps, factor, n = problem.source.steps, problem.operator.differences, problem.n
        assert steps is not None, "asked for before"
        assert factor is not None, "asked for before"
        self.data: StepData = steps.scaled(2 * factor)
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
        return None if known else "GraphLaplacian or Slowness on Steps between rows of numbers"

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
    try:
        return combine(sigma, pi, sign=sign).values
    except SingularMomentsError:  # they are not even independent there
        return np.full(n, sign * np.inf)


def graph_waves(
    rows: Float[np.ndarray, "nodes d"], changes: Float[np.ndarray, "e d"], count: int, seed: int, all_apart: bool = True
) -> RandomWaves:
    """Waves from those that hardly change over all nodes to those that change sign from one to the next.

    The next is that along an edge or, to tell `all_apart`, the nearest node, if that is closer. Half of the waves have
    any length in between, as smooth functions want it; half have any wave vector, as walls do.
    """
    rng, columns = np.random.default_rng(seed), rows.shape[1]
    centre, scale = rows.mean(0), np.array([_typical(c, r) for c, r in zip(changes.T, rows.T, strict=True)])
    moved = np.linalg.norm(changes / scale, axis=1)
    closest = float(np.median(moved[moved > 0])) if (moved > 0).any() else 1.0
    if all_apart:
        closest = min(closest, _apart(rows / scale, rng))
    fastest = np.pi / max(closest, 1e-12)
    extent = max((rows / scale).std(0).max(), 1.0)
    directions = rng.normal(size=(columns, count))
    directions /= np.linalg.norm(directions, axis=0)
    speeds = np.exp(rng.uniform(np.log(fastest / np.pi / (2 * extent)), np.log(np.sqrt(2) * fastest), count))
    anywhere = rng.uniform(-fastest, fastest, (columns, count)) * min(1.0, np.sqrt(2 / columns))
    weights = np.where(np.arange(count) % 2 == 0, speeds * directions, anywhere)
    phases = rng.uniform(-np.pi, np.pi, count)
    return RandomWaves.kept(centre, scale, weights, phases)


def _apart(rows: Float[np.ndarray, "nodes d"], rng: np.random.Generator) -> float:
    """How far rows are from the nearest one that differs."""
    distinct = np.unique(rows, axis=0)
    if len(distinct) < 2:
        return np.inf
    some = distinct[rng.permutation(len(distinct))[:APART]]
    return float(np.median(KDTree(distinct).query(some, k=2)[0][:, 1]))


def _typical(changes: Float[np.ndarray, " e"], column: Float[np.ndarray, " nodes"]) -> float:
    """How much a column changes where it does; its scatter where no edge changes it."""
    moved = np.abs(changes[changes != 0])
    return float(np.median(moved)) if len(moved) else float(column.std()) or 1.0

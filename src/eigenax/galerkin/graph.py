"""Eigenfunctions on a graph without training: the best combinations of random waves of its nodes' features."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Float
from scipy.spatial import KDTree

from eigenax.core.precision import counting_in
from eigenax.errors import InterruptedRun
from eigenax.galerkin.edges import AllSteps, Moments, WholeGraph, in_pieces
from eigenax.galerkin.on_nodes import lowest, of_all_functions
from eigenax.galerkin.random_waves import RandomWaves, signs_of
from eigenax.modes import Modes, Which
from eigenax.solvers.galerkin import Galerkin
from eigenax.sources.steps import Steps
from eigenax.sources.transitions import Transitions
from eigenax.training.interrupt import deferred_interrupt
from eigenax.training.loop import Callback, Moment
from eigenax.training.state import RunState
from eigenax.training.stopping import STEPS, TOLERANCE

RELATIVE, PATIENCE = 1e-6, 2
"""Residuals of this much of the operator's size need no more waves, nor do so many rounds that were worse than one."""
APART = 1000
"""Rows whose nearest others tell how fast waves must be."""
STEPS_PER_WAVE, FULL = 16, 0.6
"""Steps that a wave takes at least; and waves of which so few directions can be told apart span all there is."""
MOST = 4096
EACH, SPANNABLE = 2, 8192
"""Waves for each node of which any function of the nodes is made, and nodes up to which so many are taken."""
SPANNED = "more waves are no further functions of what was seen"
NO_MORE = "there are no more waves to take"
HELD_OUT = "more waves are no smoother on the half of the steps that they were not found on"


def start(n: int, seed: int) -> RunState:
    """The state before the first round."""
    with counting_in("float64"):
        none = jnp.zeros((), jnp.int32)
        key = jax.random.key_data(jax.random.key(seed))
        return RunState(jnp.zeros(n), key, none, jnp.asarray([jnp.inf, 0.0]), none)


def graph_modes(
    source: Transitions | Steps,
    n: int,
    *,
    which: Which = "smallest",
    scale: float = 1.0,
    seed: int = 0,
    solver: Galerkin | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    state: RunState | None = None,
    seconds: float = 0.0,
    callbacks: Sequence[Callback] = (),
    progress: bool = False,
) -> Modes:
    """The first n eigenfunctions of `scale` times a graph's Laplacian, as combinations of random waves of the features.

    A round has twice as many waves as the one before. Of a whole graph they end when all residuals are at most
    `tolerance`, which is a millionth of the operator's size unless given; a round with two waves for each of up to 8192
    nodes, whose features differ, finds the eigenvectors up to rounding. Of steps they end when functions that were
    found on half of them get no smoother on the other half; what was found there is then part of the standard error.

    >>> ring = Transitions([(k, (k + 1) % 12) for k in range(12)], features=np.arange(12.0)[:, None])
    >>> graph_modes(ring, 3).eigenvalues.round(6)
    array([0.      , 0.267949, 0.267949])
    """
    data = WholeGraph(source, scale) if isinstance(source, Transitions) else AllSteps(source, scale)
    if data.rank is not None and n > data.rank:
        raise ValueError(f"n must be at most the number of nodes with edges, {data.rank}; got {n}")
    solver, state = solver or Galerkin(), state or start(n, seed)
    counts, sign = _counts(solver, n, data), 1 if which == "smallest" else -1
    counts, cut = counts[:steps], steps is not None and steps < len(counts)
    # Rounds of a whole graph know nothing of each other; those of steps are done again, to compare them.
    done = int(state.step)
    number, best = (min(done, len(counts)) if done and isinstance(data, WholeGraph) else 1), None
    with deferred_interrupt() as interrupt:
        while True:
            began = time.perf_counter()
            found = _round(data, n, counts[number - 1], number, sign, seed, progress)
            best = found if best is None or found.score < best.score else best
            last = "" if number < len(counts) else STEPS if cut or isinstance(data, WholeGraph) else NO_MORE
            stopped = _why_stop(found, best, data, tolerance, last)
            state = _after(state, number)
            seconds += time.perf_counter() - began if number > done else 0.0
            moment = Moment(number, len(counts), seconds, 0.0, found.metrics(), state)
            for callback in callbacks if number > done else ():
                callback(moment)
            if stopped:
                return best.modes(data, which, number, seed, stopped)
            if interrupt.requested:
                raise InterruptedRun(f"stopped at round {number} of {len(counts)}", moment)
            number += 1


def _counts(solver: Galerkin, n: int, data: WholeGraph | AllSteps) -> list[int]:
    """How many waves each round has: few at first of steps, where many find functions that are not there."""
    counts = solver.counts(n, MOST)
    if isinstance(data, WholeGraph) and solver.most is None and _spans(data, EACH * data.rank):
        few, enough, many = data.rank // EACH, EACH * data.rank, EACH**3 * data.rank
        counts = [counts[0], enough, *(count for count in counts if count <= few or enough < count <= many)]
    if isinstance(data, AllSteps):
        most = max(4 * n, len(data.before) // STEPS_PER_WAVE)
        fewer = [counts[0] // 2**halved for halved in range(1, 6)]
        counts = [max(4 * n, min(count, most)) for count in (*fewer, *counts)]
    return sorted(set(counts))


def _after(state: RunState, number: int) -> RunState:
    with counting_in("float64"):
        return state._replace(step=jnp.asarray(number, jnp.int32))


class Found(NamedTuple):
    """Waves, the best combinations of them, and how good those are."""

    number: int
    """Of the round."""
    waves: RandomWaves
    coefficients: Float[np.ndarray, "f n"]
    values: Float[np.ndarray, " n"]
    errors: Float[np.ndarray, " n"]
    residuals: Float[np.ndarray, " n"]
    rank: int
    """Directions that could be told apart."""
    score: float
    """What rounds are compared by: less is better."""

    def metrics(self) -> dict[str, Any]:
        """What is written down of a round."""
        return {
            "eigenvalues": self.values.tolist(),
            "residuals": self.residuals.tolist(),
            "standard_errors": self.errors.tolist(),
            "waves": len(self.coefficients) - 1,
        }

    def modes(self, data: WholeGraph | AllSteps, which: Which, rounds: int, seed: int, stopped: str) -> Modes:
        """The functions as a network."""
        signs = signs_of(in_pieces(lambda rows: self.waves.combined(rows, self.coefficients), data.rows))
        return Modes(
            self.waves.network(), self.coefficients * signs, self.values, self.errors, self.residuals,
            data.rows.shape[1:], which, rounds, seed, "float64", None, stopped,
        )  # fmt: skip


def _round(data: WholeGraph | AllSteps, n: int, count: int, number: int, sign: int, seed: int, progress: bool) -> Found:
    waves = graph_waves(data.rows, data.changes(seed), count, seed, isinstance(data, WholeGraph))
    functions = waves.with_constant
    if isinstance(data, WholeGraph):
        exact = of_all_functions(data, functions, n, sign) if _spans(data, count) else None
        if exact is None and count > MOST:  # too many for a matrix of all their products
            return _round(data, n, MOST, number, sign, seed, progress)
        values, coefficients, rank = exact or lowest(data.moments(functions, progress), n, sign, data.rank)
        elsewhere = values
    else:
        first, second = data.halves(functions, progress)
        both = Moments(*(a + b for a, b in zip(first, second, strict=True)))
        values, coefficients, rank = lowest(both, n, sign, None)
        elsewhere = _held_out(first, second, n, sign)
    errors, residuals = data.errors(lambda rows: waves.combined(rows, coefficients), values)
    score = float(np.nansum(residuals)) if isinstance(data, WholeGraph) else float(sign * elsewhere.sum())
    return Found(number, waves, coefficients, values, np.hypot(errors, elsewhere - values), residuals, rank, score)


def _spans(data: WholeGraph, count: int) -> bool:
    """Whether any function of the nodes is a combination of so many waves, but for rounding."""
    return data.rank <= SPANNABLE and count >= EACH * data.rank and data.told_apart


def _held_out(first: Moments, second: Moments, n: int, sign: int) -> Float[np.ndarray, " n"]:
    """The values of what was found on one half of the steps, on the other."""
    _, coefficients, _ = lowest(first, n, sign, None)
    sigma, pi = (coefficients.T @ part @ coefficients for part in second)
    try:
        return sign * scipy.linalg.eigvalsh(sign * pi, sigma)
    except np.linalg.LinAlgError:  # they are not even independent there
        return np.full(n, sign * np.inf)


def _why_stop(found: Found, best: Found, data: WholeGraph | AllSteps, tolerance: float | None, last: str) -> str:
    if isinstance(data, WholeGraph):
        enough = found.residuals <= (RELATIVE * data.size if tolerance is None else tolerance)
        if enough.all():
            return TOLERANCE
        if found.rank == data.rank:
            return SPANNED
    elif found.number - best.number >= PATIENCE:
        return HELD_OUT
    elif found.rank < FULL * len(found.coefficients) and found is best:
        return SPANNED
    return last


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

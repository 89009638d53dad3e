"""Eigenfunctions on a graph without training: the best combinations of random waves of its nodes' features."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Float

from eigenax.core.precision import counting_in
from eigenax.errors import InterruptedRun, SingularMomentsError
from eigenax.galerkin.edges import PIECE, AllSteps, Functions, Moments, WholeGraph
from eigenax.galerkin.random_waves import RandomWaves
from eigenax.modes import Modes, Which
from eigenax.solvers.galerkin import Galerkin
from eigenax.sources.base import Source
from eigenax.sources.steps import Steps
from eigenax.sources.transitions import Transitions
from eigenax.training.interrupt import deferred_interrupt
from eigenax.training.loop import Callback, Moment
from eigenax.training.state import RunState
from eigenax.training.stopping import STEPS, TOLERANCE

RELATIVE, SAME = 1e-6, 1e-5
"""Residuals of this much of the largest value, or values that fall by less, need no more waves."""
CUT = 1e-13
"""How small a variance may be for a direction to count."""
STEPS_PER_WAVE, FULL = 16, 0.6
"""Steps that a wave takes at least; and waves of which so few directions can be told apart span all there is."""
MOST = 4096
SPANNED, FELL = "the waves span all functions of the nodes", "the values no longer fall"


def start(n: int, seed: int) -> RunState:
    """The state before the first round."""
    with counting_in("float64"):
        none = jnp.zeros((), jnp.int32)
        key = jax.random.key_data(jax.random.key(seed))
        return RunState(jnp.full(n, jnp.inf), key, none, jnp.asarray([jnp.inf, 0.0]), none)


def graph_modes(
    source: Transitions | Steps,
    n: int,
    *,
    which: Which = "smallest",
    seed: int = 0,
    solver: Galerkin | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    state: RunState | None = None,
    seconds: float = 0.0,
    callbacks: Sequence[Callback] = (),
    progress: bool = False,
) -> Modes:
    """The first n eigenfunctions of a graph's Laplacian, as combinations of ever more random waves of the features.

    A round has as many waves as the solver says. They end when all residuals are at most `tolerance`, which is a
    millionth of the largest value unless given, or when the values of steps no longer fall. With about twice as many
    waves as nodes, whatever tells these apart, the functions are the eigenvectors of the graph up to rounding.

    >>> ring = Transitions([(k, (k + 1) % 12) for k in range(12)], features=np.arange(12.0)[:, None])
    >>> graph_modes(ring, 3).eigenvalues.round(6)
    array([0.      , 0.267949, 0.267949])
    """
    data = WholeGraph(source) if isinstance(source, Transitions) else AllSteps(source)
    if data.rank is not None and n > data.rank:
        raise ValueError(f"n must be at most the number of nodes with edges, {data.rank}; got {n}")
    solver, state = solver or Galerkin(), state or start(n, seed)
    counts = _counts(solver, n, data)[:steps]
    before, number = np.asarray(state.solver), max(int(state.step), 1)
    with deferred_interrupt() as interrupt:
        while True:
            began, again = time.perf_counter(), number == int(state.step)
            found = _round(data, n, counts[number - 1], which, seed, progress)
            stopped = _why_stop(found, before, data, tolerance, number == len(counts))
            state = _after(state, before, number)
            seconds += 0.0 if again else time.perf_counter() - began
            moment = Moment(number, len(counts), seconds, 0.0, found.metrics(), state)
            for callback in () if again else callbacks:
                callback(moment)
            if stopped:
                return found.modes(source, which, number, seed, stopped)
            if interrupt.requested:
                raise InterruptedRun(f"stopped at round {number} of {len(counts)}", moment)
            before, number = found.values, number + 1


def _counts(solver: Galerkin, n: int, data: WholeGraph | AllSteps) -> list[int]:
    """How many waves each round has."""
    counts = [solver.count(0, n, MOST)]
    while (count := solver.count(len(counts), n, MOST)) > counts[-1]:
        counts.append(count)
    if isinstance(data, AllSteps):
        most = max(4 * n, len(data.before) // STEPS_PER_WAVE)
        counts = [min(count, most) for count in counts]
    return sorted(set(counts))


def _after(state: RunState, before: Float[np.ndarray, " n"], number: int) -> RunState:
    """What a round began with, so that it can be done again."""
    with counting_in("float64"):
        return state._replace(solver=jnp.asarray(before), step=jnp.asarray(number, jnp.int32))


class Found(NamedTuple):
    """Waves, the best combinations of them, and how good those are."""

    waves: RandomWaves
    coefficients: Float[np.ndarray, "f n"]
    values: Float[np.ndarray, " n"]
    errors: Float[np.ndarray, " n"]
    residuals: Float[np.ndarray, " n"]
    rank: int
    """Directions that could be told apart."""

    def metrics(self) -> dict[str, Any]:
        """What is written down of a round."""
        return {
            "eigenvalues": self.values.tolist(),
            "residuals": self.residuals.tolist(),
            "standard_errors": self.errors.tolist(),
            "waves": len(self.coefficients) - 1,
        }

    def modes(self, source: Source, which: Which, number: int, seed: int, stopped: str) -> Modes:
        """The functions as a network."""
        return Modes(
            self.waves.network(), self.coefficients, self.values, self.errors, self.residuals, source.shape, which,
            number, seed, "float64", None, stopped,
        )  # fmt: skip


def _round(data: WholeGraph | AllSteps, n: int, count: int, which: Which, seed: int, progress: bool) -> Found:
    sign = 1 if which == "smallest" else -1
    waves = graph_waves(data.rows, data.changes(seed), count, seed)
    values, coefficients, rank = _lowest(data.moments(_with_constant(waves), progress), n, sign, data.rank)
    highest, lowest = _extremes(_combined(waves, coefficients), data.rows)
    coefficients = coefficients * np.where(highest < -lowest, -1.0, 1.0)
    errors, residuals = data.errors(_combined(waves, coefficients), values)
    return Found(waves, coefficients, values, errors, residuals, rank)


def _why_stop(
    found: Found, before: Float[np.ndarray, " n"], data: WholeGraph | AllSteps, tolerance: float | None, last: bool
) -> str:
    scale = max(np.abs(found.values).max(), np.finfo(float).tiny)
    if (found.residuals <= (RELATIVE * scale if tolerance is None else tolerance)).all():
        return TOLERANCE
    if found.rank == data.rank or (data.rank is None and found.rank < FULL * len(found.coefficients)):
        return SPANNED
    if data.rank is None and (np.abs(before - found.values) <= SAME * scale).all():
        return FELL
    return STEPS if last else ""


def graph_waves(
    rows: Float[np.ndarray, "nodes d"], changes: Float[np.ndarray, "e d"], count: int, seed: int
) -> RandomWaves:
    """Waves from those that hardly change over all nodes to those that change sign from one to the next.

    Half of them have any length in between, as smooth functions want it; half have any wave vector, as walls do.
    """
    rng, columns = np.random.default_rng(seed), rows.shape[1]
    centre, scale = rows.mean(0), np.array([_typical(c, r) for c, r in zip(changes.T, rows.T, strict=True)])
    moved = np.linalg.norm(changes / scale, axis=1)
    fastest = np.pi / max(np.median(moved[moved > 0]) if (moved > 0).any() else 1.0, 1e-12)
    extent = max((rows / scale).std(0).max(), 1.0)
    directions = rng.normal(size=(columns, count))
    directions /= np.linalg.norm(directions, axis=0)
    speeds = np.exp(rng.uniform(np.log(fastest / np.pi / (2 * extent)), np.log(np.sqrt(2) * fastest), count))
    anywhere = rng.uniform(-fastest, fastest, (columns, count)) * min(1.0, np.sqrt(2 / columns))
    weights = np.where(np.arange(count) % 2 == 0, speeds * directions, anywhere)
    phases = rng.uniform(-np.pi, np.pi, count)
    # The network that will evaluate them holds its numbers in float32.
    weights, phases = (part.astype(np.float32).astype(np.float64) for part in (weights, phases))
    return RandomWaves(centre, scale, weights, phases)


def _typical(changes: Float[np.ndarray, " e"], column: Float[np.ndarray, " nodes"]) -> float:
    """How much a column changes where it does; its scatter where no edge changes it."""
    moved = np.abs(changes[changes != 0])
    return float(np.median(moved)) if len(moved) else float(column.std()) or 1.0


def _with_constant(waves: RandomWaves) -> Functions:
    return lambda rows: np.concatenate([waves(rows), np.ones((len(rows), 1))], 1)


def _combined(waves: RandomWaves, coefficients: Float[np.ndarray, "f n"]) -> Functions:
    return lambda rows: waves(rows) @ coefficients[:-1] + coefficients[-1]


def _lowest(
    moments: Moments, n: int, sign: int, nodes: int | None
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "f n"], int]:
    """The n lowest solutions of Π c = λ Σ c, and how many directions they were looked for in."""
    variances, axes = np.linalg.eigh(moments.sigma)
    kept = variances > CUT * variances[-1]
    if nodes is not None:
        kept[: max(0, len(kept) - nodes)] = False  # there are no more functions than nodes
    rank = int(kept.sum())
    if rank < n:
        raise SingularMomentsError(
            f"n = {n} functions cannot be told apart: the features of the nodes differ in {rank} ways; ask for fewer "
            "modes, or give features that tell the nodes apart"
        )
    whitening = axes[:, kept] / np.sqrt(variances[kept])
    matrix = whitening.T @ moments.pi @ whitening
    values, vectors = scipy.linalg.eigh(sign * (matrix + matrix.T) / 2, subset_by_index=(0, n - 1))
    return sign * values, whitening @ vectors, rank


def _extremes(functions: Functions, rows: Float[np.ndarray, "nodes d"]) -> tuple[np.ndarray, np.ndarray]:
    """The largest and the smallest value of each function."""
    pieces: Sequence[np.ndarray] = [functions(rows[at : at + PIECE]) for at in range(0, len(rows), PIECE)]
    return np.max([v.max(0) for v in pieces], axis=0), np.min([v.min(0) for v in pieces], axis=0)

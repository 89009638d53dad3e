"""Solvers that train a network: chunks of compiled updates on batches, then a measurement on fresh samples."""

import dataclasses
from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.checks import check_choice, positive_int, positive_int_or_none
from eigenax.core.batch import Batch, effective_share
from eigenax.core.compiled import compiled
from eigenax.core.precision import Precision, full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.core.ritz import Finish, distance_to_exact
from eigenax.io.checkpoint import Load
from eigenax.locate.holes import with_holes
from eigenax.locate.missed import with_what_was_missed
from eigenax.measurement.measure import FRESH, measure
from eigenax.measurement.solution import Solution
from eigenax.modes import Modes
from eigenax.networks.base import in_precision
from eigenax.operators.base import Operator
from eigenax.problem import Problem, check_network
from eigenax.samples import BATCHES
from eigenax.solvers.base import Info, Solver
from eigenax.solvers.default_parts import default_parts
from eigenax.solvers.early_stopping import BestNetwork, measured_on_held_out, quotients, score
from eigenax.solvers.many_dims import FEW_DIMS, parts_in_many_dims, walkers_can_tell
from eigenax.solvers.span_measurement import measured_on
from eigenax.solvers.stalling import is_stalled, with_new_minimum
from eigenax.sources.base import Sampler, Source
from eigenax.stop_reason import StopReason

DEFAULT_STEPS = 20_000
"""The number of updates unless `max_steps` is given."""
CHUNKS = 100
"""A run is divided into about this many chunks of updates, with one line of the log for each."""
LONGEST_CHUNK = 500
"""The most updates in a chunk."""
MEASUREMENT_SETTINGS = ("samples", "finish", "log_every")
"""Settings that no update depends on: a resumed run may change them, unless a `tol` decides by the errors."""


class TrainingState(NamedTuple):
    """What the next update needs."""

    solver: Any
    """The state of the solver itself: a named tuple with the network in its field `network`."""
    sampler: Any
    lowest: Float[Array, " 2"]
    """The lowest sum of residuals so far, and its step."""
    kept: BestNetwork | None
    """The best network so far on held-out data, if the source holds data out."""
    step: Int[Array, ""]


class GradientSolver(Solver):
    """A solver that trains a network: a new one defines only `begin` and `update`.

    Each update takes a `batch` of draws, in `precision`; `log_every` updates are one step of the driver. Results are
    measured on `samples` fresh points. `finish` says how the final functions are made: "ritz" takes the best
    combinations of the last hidden layer, "eigh" diagonalises Λ, and "cholesky" is the paper's v = L⁻¹ u. The default
    is "ritz" for differential operators and "eigh" for others.
    """

    batch: int = eqx.field(static=True, default=256, kw_only=True, converter=partial(positive_int, "batch"))
    samples: int = eqx.field(
        static=True, default=FRESH, kw_only=True, converter=partial(positive_int, "samples", least=BATCHES)
    )
    precision: Precision = eqx.field(static=True, default="float32", kw_only=True)
    finish: Finish | None = eqx.field(static=True, default=None, kw_only=True)
    log_every: int | None = eqx.field(
        static=True, default=None, kw_only=True, converter=partial(positive_int_or_none, "log_every")
    )

    spare: ClassVar[int] = 0
    """How many functions more than asked for the network may have."""
    wants_separate: ClassVar[bool] = False
    """Whether the default network should have separate parameters for each function."""
    divergence_hint: ClassVar[str] = (
        "the covariance of the functions has no Cholesky factor or a gradient is not finite; lower the learning rate, "
        "raise the averaging rate towards 1, or enlarge the batch"
    )
    """What went wrong in an update that is not healthy, and what to do."""

    def __check_init__(self):
        check_choice("precision", self.precision, get_args(Precision))
        if self.finish is not None:
            check_choice("finish", self.finish, get_args(Finish))

    @abstractmethod
    def begin(self, network: Any, outputs: int) -> Any:
        """The state before the first update, a named tuple with the network in its field `network`."""

    @abstractmethod
    def update(self, operator: Operator, state: Any, batch: Batch) -> tuple[Any, Any]:
        """The next state, and a named tuple to log: `eigenvalues`, `residuals`, `healthy` and more numbers.

        A solver always descends: where the largest eigenvalues are wanted, it gets the operator times −1.
        """

    def why_not(self, problem: Problem) -> str | None:
        """Refuse weak forms and complex operators: these solvers train real functions on K u."""
        kind = "is a weak form, without K u" if problem.operator.weak else "is complex"
        if problem.operator.weak or problem.operator.complex:
            return (
                f"{self.name} trains real functions on K u, and the operator {kind}; RayleighRitz() takes such ones "
                "if they are differential, on a box or a surface"
            )
        return None

    def prepared(self, problem: Problem) -> Problem:
        """The problem, with a default network and default points if no network was given.

        In many dimensions a network of the user's gets points of Markov chains too.
        """
        problem = super().prepared(problem)
        with precision_scope(self.precision, at_least=True), full_precision():
            if problem.network is None or (problem.sampler is problem.source and self.wants_chains(problem)):
                problem = self.with_default_parts(problem)
            problem = dataclasses.replace(problem, network=in_precision(problem.network))
            check_network(problem, self.spare)
            self._check_batch(problem)
        return problem

    def with_default_parts(self, problem: Problem) -> Problem:
        """The problem with a network, and points to train it on, where no network was given."""
        if self.wants_chains(problem):
            return parts_in_many_dims(problem, problem.n + self.spare, self.batch)
        return default_parts(problem, self.wants_separate)

    def wants_chains(self, problem: Problem) -> bool:
        """Whether default points are those of Markov chains: for −D∇² + V on a box of many dimensions."""
        dims = 0 if problem.domain is None else len(problem.domain.box.low)
        return dims > FEW_DIMS and problem.operator.differential and walkers_can_tell(problem)

    def _check_batch(self, problem: Problem) -> None:
        """Raise an error if the Σ of a batch cannot have full rank, unless Σ is averaged from the start."""
        draws = jax.eval_shape(lambda key: problem.source.sample(key, self.batch), jax.random.key(0)).x.shape[0]
        if draws < problem.n and not self.averages_from_the_start:
            raise ValueError(
                f"batch must have at least n = {problem.n} points, since fewer cannot tell {problem.n} functions "
                f"apart; got {draws}. Enlarge it, or give a solver that averages over batches from the start, such as "
                "SpIN(…, ema_rate=0.01)"
            )

    @property
    def averages_from_the_start(self) -> bool:
        """Whether Σ is averaged from the first step on, so that a batch may have fewer points than functions."""
        return True

    def init(self, problem: Problem, key: PRNGKeyArray) -> TrainingState:
        """The initial states of the solver and of the sampler."""
        # As all further steps are, so that what a sampler runs again later on is the same compiled program.
        with precision_scope(self.precision, at_least=True), full_precision():
            sampler = problem.sampler.init(problem.network, stream(key, Stream.SAMPLER), self.batch)
            lowest, step = jnp.asarray([jnp.inf, 0.0]), jnp.zeros((), jnp.int32)
            kept = None if problem.source.held_out is None else BestNetwork.of(problem.network)
            point = jax.ShapeDtypeStruct(problem.source.shape, jnp.zeros(()).dtype)
            outputs = jax.eval_shape(problem.network, point).shape[0]
            return TrainingState(self.begin(problem.network, outputs), sampler, lowest, kept, step)

    def step(self, problem: Problem, state: TrainingState, key: PRNGKeyArray) -> tuple[TrainingState, Info]:
        """A chunk of updates."""
        begun, total = int(state.step), self.total(problem, state)
        length = min(self.log_every or max(1, min(LONGEST_CHUNK, total // CHUNKS)), total - begun)
        with precision_scope(self.precision, at_least=True), full_precision():
            training = state._replace(kept=None)
            after, infos = _updates(self, problem.descending, problem.sampler, training, key, length)
            healthy = np.asarray(infos["healthy"])
            if not healthy.all():
                where = begun + int(np.argmin(healthy))
                nan = "" if where else "the operator or the network may have returned NaN or infinity, or "
                return state, Info({}, failure=f"diverged at step {where}: {nan}{self.divergence_hint}")
            metrics = _chunk_means(infos, problem.sign)
            residuals = np.asarray(metrics.get("residuals", []))
            lowest = with_new_minimum(np.asarray(after.lowest), residuals, begun + length)
            tells = problem.operator.local and problem.tol is None and len(residuals) > 0
            stalled = tells and is_stalled(lowest, begun + length, total)
            after = after._replace(lowest=jnp.asarray(lowest, after.lowest.dtype))
            if state.kept is None:
                return after, Info(metrics, StopReason.STALLED if stalled else None)
            return self._with_early_stopping(problem, after, state.kept, metrics, key)

    def _with_early_stopping(
        self, problem: Problem, after: TrainingState, kept: BestNetwork, metrics: dict[str, Any], key: PRNGKeyArray
    ) -> tuple[TrainingState, Info]:
        """Early stopping: keep the best network on held-out data, and finish if no better one is expected."""
        seen, network, step = problem.source, after.solver.network, int(after.step)
        assert seen.held_out is not None, "a network is kept only where data are held out"
        key = stream(key, Stream.HELD_OUT)
        there = quotients(network, problem.descending, seen, seen.held_out, key, self.batch)
        kept = kept.after(network, score(there), step)
        metrics |= {"held_out": (problem.sign * there).tolist(), "kept_step": int(kept.step)}
        ended = kept.has_gone_stale(step, self.total(problem, after))
        return after._replace(kept=kept), Info(metrics, StopReason.OVERFITS if ended else None)

    def modes(self, problem: Problem, state: TrainingState) -> Modes:
        """Measure the network; for a differential operator, the errors include states that it has missed."""
        return self.with_missed(problem, self.measured(problem, state))

    def measured(self, problem: Problem, state: TrainingState) -> Modes:
        """Measure the network on fresh samples, or the best one so far on held-out data, if there are any.

        What was trained on Markov chains is measured on chains: other points tell little of it in many dimensions.
        """
        source = self.measured_source(problem, state, state.solver.network)
        if source.up_to_a_factor:

            def errors(found: Solution) -> Float[np.ndarray, " n"]:
                return distance_to_exact(found.values, found.residuals, found.next_value)

            network, precision = state.solver.network, self.precision
            return measured_on(problem, network, source, errors, samples=self.samples, precision=precision)
        modes = measure(
            state.kept.network if state.kept is not None and state.kept.step > 0 else state.solver.network,
            problem.operator,
            problem.source,
            n=problem.n,
            which=problem.which,
            finish=self.finish or ("ritz" if problem.operator.differential else "eigh"),
            samples=self.samples,
            seed=problem.seed,
            precision=self.precision,
            progress=problem.progress,
        )
        if problem.source.held_out is not None:
            modes = measured_on_held_out(problem, modes, problem.source.held_out)
        return modes

    def measured_source(self, problem: Problem, state: TrainingState, network: Any) -> Source:
        """The source that a network trained on the sampler's points is measured on."""
        with precision_scope(self.precision, at_least=True), full_precision():
            return problem.sampler.measured(state.sampler, network, stream(problem.seed, Stream.CHAINS))

    def with_missed(self, problem: Problem, modes: Modes) -> Modes:
        """The same with larger errors where a differential operator has lower states than these."""
        if modes.source is not None and modes.source.up_to_a_factor:
            return with_holes(problem, modes)
        return with_what_was_missed(problem, modes) if problem.operator.differential else modes

    def total(self, problem: Problem, state: Any) -> int:
        """The number of updates: `max_steps`, or the default."""
        return problem.max_steps or DEFAULT_STEPS

    def restored(self, problem: Problem, key: PRNGKeyArray, about: Any, load: Load) -> TrainingState:
        """The state from a checkpoint, in the precision of the run."""
        with precision_scope(self.precision, at_least=True):
            return load(self.init(problem, key))

    def settings(self, problem: Problem) -> dict[str, Any]:
        """The settings that training depends on."""
        with precision_scope(self.precision, at_least=True):
            all_of_them = super().settings(problem)
        measuring = () if problem.tol is not None else MEASUREMENT_SETTINGS
        return {name: value for name, value in all_of_them.items() if name not in measuring}


@compiled
def _updates(
    solver: GradientSolver, operator: Operator, sampler: Sampler, state: TrainingState, key: PRNGKeyArray, length: int
) -> tuple[TrainingState, dict[str, Array]]:
    """Several updates, as one compiled program."""
    arrays, static = eqx.partition(state, eqx.is_array)

    def body(carry: TrainingState, _: None) -> tuple[TrainingState, dict[str, Array]]:
        after, infos = _update(solver, operator, sampler, eqx.combine(carry, static), key)
        return eqx.filter(after, eqx.is_array), infos

    after, infos = jax.lax.scan(body, arrays, length=length)
    return eqx.combine(after, static), infos


@eqx.filter_jit
def _update(
    solver: GradientSolver, operator: Operator, sampler: Sampler, state: TrainingState, key: PRNGKeyArray
) -> tuple[TrainingState, dict[str, Array]]:
    """One update, traced once for chunks of any length. Its randomness depends on the run's key and the step alone."""
    drawing = jax.random.fold_in(key, state.step)
    remembered, drawn = sampler.draw(state.sampler, state.solver.network, drawing, solver.batch)
    inner, info = solver.update(operator, state.solver, drawn)
    infos = info._asdict() | {"effective_samples": effective_share(drawn.weights)}
    return state._replace(solver=inner, sampler=remembered, step=state.step + 1), infos


def _chunk_means(infos: dict[str, Array], sign: float) -> dict[str, Any]:
    """The means over a chunk, as numbers and lists; eigenvalues are those of the operator as it was given."""
    means = {name: np.asarray(value, np.float64).mean(0) for name, value in infos.items() if name != "healthy"}
    if "eigenvalues" in means:
        means["eigenvalues"] = sign * means["eigenvalues"]
    return {name: value.tolist() for name, value in means.items()}

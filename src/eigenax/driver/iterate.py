"""The loop: the steps of a solver, with callbacks, checkpoints and checks of the errors between them."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from eigenax.core.random_streams import Stream, stream
from eigenax.driver.clock import Clock
from eigenax.driver.interrupt import deferred_interrupt
from eigenax.driver.session import Session
from eigenax.driver.snapshot import Callback, Snapshot
from eigenax.driver.stopping import is_due, within_tol
from eigenax.errors import DivergedError, InterruptedRun, SingularMomentsError
from eigenax.modes import Modes
from eigenax.problem import Problem
from eigenax.solvers.base import Solver
from eigenax.stop_reason import StopReason


class Finished(NamedTuple):
    """How a run ended."""

    last: Snapshot
    modes: Modes | None
    """The modes after the last step, if they were computed there to compare their errors with `tol`."""


def iterate(
    problem: Problem,
    solver: Solver,
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint_dir: str | PathLike[str] | None = None,
) -> Finished:
    """Run a solver until the errors are within `problem.tol`, the solver has finished, or all steps are taken.

    With a `checkpoint_dir`, the run resumes from the newest checkpoint there. Raises `DivergedError`, which holds the
    last good snapshot, and `InterruptedRun` on Ctrl-C.
    """
    key = stream(problem.seed, Stream.TRAINING)

    def settings() -> dict[str, Any]:
        asked = {name: getattr(problem, name) for name in ("n", "seed", "which", "tol", "max_steps")}
        return asked | {"solver": solver.name} | solver.settings(problem)

    with (
        _opened(checkpoint_dir, solver, settings) as session,
        deferred_interrupt() as interrupt,
    ):
        snapshot, modes = _first_snapshot(problem, solver, key, session), None
        callbacks = (*([session.write] if session else []), *callbacks)
        for callback in callbacks:
            callback(snapshot)
        while snapshot.stop_reason is None:
            snapshot, modes = _next_snapshot(problem, solver, snapshot, key)
            for callback in callbacks:
                callback(snapshot)
            if interrupt.requested and snapshot.stop_reason is None:
                raise InterruptedRun(f"stopped at step {snapshot.step} of {snapshot.max_steps}", snapshot)
    return Finished(snapshot, modes)


def _first_snapshot(problem: Problem, solver: Solver, key: Any, session: Session | None) -> Snapshot:
    """The snapshot of the newest checkpoint of this run, or of the solver's initial state."""
    found = session.resume(lambda about, load: solver.restored(problem, key, about, load)) if session else None
    if found is not None:
        state, about = found
        reason = StopReason[about["stop_reason"]] if about["stop_reason"] else None
        total = solver.total(problem, state)
        return Snapshot(int(state.step), total, about["seconds"], about["compile_seconds"], {}, state, reason)
    clock = Clock()
    state = solver.init(problem, key)
    return Snapshot(int(state.step), solver.total(problem, state), *clock.read(), {}, state)


def _next_snapshot(problem: Problem, solver: Solver, before: Snapshot, key: Any) -> tuple[Snapshot, Modes | None]:
    """The snapshot after one more step, and the modes if they were computed to compare their errors with `tol`."""
    clock = Clock()
    state, info = solver.step(problem, before.state, key)
    if info.failure:
        raise DivergedError(f"{info.failure}. The state of step {before.step} is the last good one", before)
    step, total, modes = int(state.step), solver.total(problem, state), None
    reason = info.finished or (StopReason.MAX_STEPS if step >= total else None)
    check_errors = reason or solver.has_long_steps or is_due(before.step, step, total)
    if problem.tol is not None and check_errors:
        with contextlib.suppress(SingularMomentsError):  # still linearly dependent functions have no errors yet
            measured = solver.measured(problem, state)
            # What may have been missed is searched for only where that can matter: it only makes errors larger.
            if reason or within_tol(measured, problem.tol).all():
                modes = solver.with_missed(problem, measured)
                reason = StopReason.TOL if within_tol(modes, problem.tol).all() else reason
    seconds, compiling = clock.read()
    seconds, compiling = before.seconds + seconds, before.compile_seconds + compiling
    return Snapshot(step, total, seconds, compiling, info.metrics, state, reason), modes


@contextlib.contextmanager
def _opened(
    checkpoint_dir: str | PathLike[str] | None, solver: Solver, settings: Callable[[], dict[str, Any]]
) -> Iterator[Session | None]:
    """The session that writes metrics and checkpoints into the folder; None without a folder."""
    if checkpoint_dir is None:
        yield None
        return
    session = Session(Path(checkpoint_dir), solver, settings())
    with session.opened():
        yield session

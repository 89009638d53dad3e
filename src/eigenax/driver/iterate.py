"""The loop: a solver's steps, and what happens between them."""

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
from eigenax.driver.stopping import is_due, within
from eigenax.errors import DivergedError, InterruptedRun, SingularMomentsError
from eigenax.modes import Modes
from eigenax.problem import Problem
from eigenax.solvers.base import Solver
from eigenax.stop_reason import StopReason


class Finished(NamedTuple):
    """How a run ended."""

    last: Snapshot
    modes: Modes | None
    """Where its errors were looked at after the last step."""


def iterate(
    problem: Problem,
    solver: Solver,
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint_dir: str | PathLike[str] | None = None,
) -> Finished:
    """Step after step until the errors are within `problem.tol`, the solver has finished, or all steps are taken.

    With a `checkpoint_dir` it goes on from what is there. Raises `DivergedError`, which keeps the last good snapshot,
    and `InterruptedRun` on Ctrl-C.
    """
    key = stream(problem.seed, Stream.TRAINING)

    def settings() -> dict[str, Any]:
        asked = {name: getattr(problem, name) for name in ("n", "seed", "which", "tol", "max_steps")}
        return asked | {"solver": solver.name} | solver.settings(problem)

    with (
        _kept(checkpoint_dir, solver, settings) as session,
        deferred_interrupt() as interrupt,
    ):
        now, modes = _begun(problem, solver, key, session), None
        told = (*([session.write] if session else []), *callbacks)
        for callback in told:
            callback(now)
        while now.stop_reason is None:
            now, modes = _stepped(problem, solver, now, key)
            for callback in told:
                callback(now)
            if interrupt.requested and now.stop_reason is None:
                raise InterruptedRun(f"stopped at step {now.step} of {now.max_steps}", now)
    return Finished(now, modes)


def _begun(problem: Problem, solver: Solver, key: Any, session: Session | None) -> Snapshot:
    """The newest checkpoint of this run, or a fresh state."""
    found = session.resume(lambda about, load: solver.restored(problem, key, about, load)) if session else None
    if found is not None:
        state, about = found
        reason = StopReason[about["stop_reason"]] if about["stop_reason"] else None
        total = solver.total(problem, state)
        return Snapshot(int(state.step), total, about["seconds"], about["compile_seconds"], {}, state, reason)
    clock = Clock()
    state = solver.init(problem, key)
    return Snapshot(int(state.step), solver.total(problem, state), *clock.read(), {}, state)


def _stepped(problem: Problem, solver: Solver, before: Snapshot, key: Any) -> tuple[Snapshot, Modes | None]:
    """The snapshot after one more step, and the modes there if their errors had to be looked at."""
    clock = Clock()
    state, info = solver.step(problem, before.state, key)
    if info.failure:
        raise DivergedError(f"{info.failure}. The state of step {before.step} is the last good one", before)
    step, total, modes = int(state.step), solver.total(problem, state), None
    reason = info.finished or (StopReason.MAX_STEPS if step >= total else None)
    looked_at = reason or solver.has_long_steps or is_due(before.step, step, total)
    if problem.tol is not None and looked_at:
        with contextlib.suppress(SingularMomentsError):  # functions that are still alike have no errors yet
            modes = solver.modes(problem, state)
            reason = StopReason.TOL if within(modes, problem.tol).all() else reason
    seconds, compiling = clock.read()
    seconds, compiling = before.seconds + seconds, before.compile_seconds + compiling
    return Snapshot(step, total, seconds, compiling, info.metrics, state, reason), modes


@contextlib.contextmanager
def _kept(
    checkpoint_dir: str | PathLike[str] | None, solver: Solver, settings: Callable[[], dict[str, Any]]
) -> Iterator[Session | None]:
    """What writes metrics and checkpoints into a folder, if there is one."""
    if checkpoint_dir is None:
        yield None
        return
    session = Session(Path(checkpoint_dir), solver, settings())
    with session.kept():
        yield session

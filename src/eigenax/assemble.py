"""`solve` puts the parts together: operator, source, network and solver in, modes out."""

import dataclasses
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any

from eigenax.driver.compiled_programs import make_room_for_programs
from eigenax.driver.iterate import iterate
from eigenax.driver.progress import progress_bar
from eigenax.driver.snapshot import Callback
from eigenax.driver.stopping import doubted, tell_of_missed
from eigenax.locate.cause import with_likely_cause
from eigenax.modes import Modes, Which
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.solvers.auto import AutoSolver
from eigenax.solvers.base import Solver, SolverChoice


def solve(
    operator: Operator,
    source: Any,
    n: int,
    *,
    which: Which = "smallest",
    solver: SolverChoice | None = None,
    network: Any = None,
    tol: float | None = None,
    max_steps: int | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
    checkpoint_dir: str | PathLike[str] | None = None,
    progress: bool = True,
) -> Modes:
    """Find the first n eigenfunctions of an operator, on the points of a source, a domain or a density.

    `AutoSolver` chooses a solver unless one is given; `modes.solver` names it. The run ends as soon as the estimated
    errors of all n eigenvalues are at most `tol` times their size, or their range if that is larger. Without a `tol`,
    it ends when there is nothing more to be gained. It ends at the latest after `max_steps`: bases that were tried, or
    updates of a network. `modes.stop_reason` says why it ended, and a warning is given if `tol` was not reached.

    If the source holds data out (`TimeSeries(…, held_out=0.1)`), these are for early stopping: training ends when the
    network no longer improves on them, and the best network is kept. Eigenvalues are then those of the held-out data;
    `modes.training_eigenvalues` are those of the rest.

    With a `checkpoint_dir`, metrics and checkpoints are written there. After a crash or Ctrl-C, the same call resumes
    from them, and its result is the same to the last bit. Callbacks are called with a `Snapshot` after every step.

    >>> import eigenax as ex, jax.numpy as jnp
    >>> well = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
    >>> modes = ex.solve(well, ex.Box(-6, 6, dims=1), n=3, tol=1e-3, progress=False)
    >>> modes.eigenvalues.round(2)
    array([1., 3., 5.])
    """
    make_room_for_programs()
    problem = Problem.checked(
        operator, source, n, which=which, network=network, tol=tol, max_steps=max_steps, seed=seed, progress=progress
    )
    _check_run(solver, callbacks, checkpoint_dir)
    chosen, problem = prepared(problem, solver or AutoSolver())
    try:
        with progress_bar(chosen.name, show=problem.progress) as show:
            last, modes = iterate(problem, chosen, callbacks=[*callbacks, show], checkpoint_dir=checkpoint_dir)
            modes = chosen.modes(problem, last.state) if modes is None else modes
    except ValueError as error:
        if "verifier errors" not in str(error):
            raise
        raise ValueError(
            "a part of yours refers to a NumPy array, which JAX cannot use in both float32 and float64: make it "
            "inside the function, jnp.asarray([…]), or keep it as numbers, array.tolist()"
        ) from error
    modes = dataclasses.replace(
        modes, steps=last.step, solver=modes.solver or chosen.name, stop_reason=last.stop_reason
    )
    modes = with_likely_cause(problem, modes, doubted(modes, tol), chosen.advice(problem, modes))
    if modes.note:
        warnings.warn(modes.note, RuntimeWarning, stacklevel=2)
    if tol is not None:
        tell_of_missed(modes, tol)
    return modes


def prepared(problem: Problem, solver: SolverChoice) -> tuple[Solver, Problem]:
    """The solver chosen for a problem, and the problem as that solver prepares it; an error if it cannot solve it."""
    chosen = solver.resolved(problem)
    reason = chosen.why_not(problem)
    if reason is not None:
        raise ValueError(reason)
    return chosen, chosen.prepared(problem)


def _check_run(solver: Any, callbacks: Any, checkpoint_dir: Any) -> None:
    """Refuse arguments of the wrong type, by name."""
    if not isinstance(solver, SolverChoice | None):
        hint = ": call it" if isinstance(solver, type) else ""
        raise TypeError(f"solver must be an eigenax solver such as SpIN(optax.adam(1e-3)); got {solver!r}{hint}")
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise TypeError(f"callbacks must be a sequence of functions, such as [print]; got {callbacks!r}")
    if not isinstance(checkpoint_dir, str | PathLike | None):
        raise TypeError(f"checkpoint_dir must be the path of a folder, such as 'runs/atom'; got {checkpoint_dir!r}")

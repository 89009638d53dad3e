"""The solver: how the functions are found, a step at a time."""

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
from jaxtyping import PRNGKeyArray

from eigenax.io.checkpoint import Load
from eigenax.modes import Modes
from eigenax.problem import Problem
from eigenax.solvers.described import described
from eigenax.stop_reason import StopReason


class Info(NamedTuple):
    """What a step reports to the log and to the driver."""

    metrics: dict[str, Any]
    """Numbers and lists of numbers that are logged: `eigenvalues`, `residuals` and more."""
    finished: StopReason | None = None
    """Why the solver has finished; None to go on."""
    failure: str = ""
    """What went wrong and what to do, if the new state must not be used; empty otherwise."""


class SavedState(NamedTuple):
    """What a checkpoint holds of a state: a pytree of arrays, and plain data about it, passed to `restored`."""

    arrays: Any
    about: Any = None


class SolverChoice(eqx.Module):
    """A solver, or something that chooses a solver for each problem."""

    @abstractmethod
    def resolved(self, problem: Problem) -> "Solver":
        """The solver for this problem."""


class Solver(SolverChoice):
    """How functions are found, one step at a time: the object holds settings, the state holds arrays.

    The driver does the rest: time, callbacks, checkpoints, stopping. A state is a named tuple whose field `step` is the
    number of steps done. Methods get the key of the run: fold the step into it, so that a resumed run has the same
    bits.
    """

    has_long_steps: ClassVar[bool] = False
    """Whether steps take so long that, with a `tol`, errors are measured after every one."""

    @abstractmethod
    def why_not(self, problem: Problem) -> str | None:
        """Why it cannot solve the problem, in a sentence that also says what to do instead; None if it can."""

    @abstractmethod
    def init(self, problem: Problem, key: PRNGKeyArray) -> Any:
        """The state before the first step."""

    @abstractmethod
    def step(self, problem: Problem, state: Any, key: PRNGKeyArray) -> tuple[Any, Info]:
        """The next state, after one refinement or a chunk of updates, and what to report of it."""

    @abstractmethod
    def modes(self, problem: Problem, state: Any) -> Modes:
        """The current functions with their errors. Called at the end and, with a `tol`, from time to time."""

    def measured(self, problem: Problem, state: Any) -> Modes:
        """The modes before `with_missed`: what a `tol` is compared with first, at less cost."""
        return self.modes(problem, state)

    def with_missed(self, problem: Problem, modes: Modes) -> Modes:
        """Modes that were measured, with errors that are larger where a search finds lower states."""
        return modes

    def resolved(self, problem: Problem) -> "Solver":
        """This solver, with settings that depend on the problem filled in."""
        return self

    def prepared(self, problem: Problem) -> Problem:
        """The problem with what the solver fills in, such as a network; raises if its parts do not fit each other."""
        problem.look()
        return problem

    @abstractmethod
    def total(self, problem: Problem, state: Any) -> int:
        """The number of steps at which the run ends at the latest."""

    def advice(self, problem: Problem, modes: Modes) -> str:
        """What to do about large errors, in a sentence; empty if the advice of the stop reason is good enough."""
        return ""

    def saved(self, state: Any) -> SavedState:
        """What a checkpoint must hold of a state: all of it, unless overridden."""
        return SavedState(state)

    def restored(self, problem: Problem, key: PRNGKeyArray, about: Any, load: Load) -> Any:
        """The state from a checkpoint. `about` is the plain data saved with it; the initial state gives the shapes."""
        return load(self.init(problem, key))

    def settings(self, problem: Problem) -> dict[str, Any]:
        """The settings of problem and solver as plain data, which a resumed run must share with the run before."""
        own = {field.name: described(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return own | {"source": described(problem.sampler), "operator": problem.fingerprint()}

    @property
    def name(self) -> str:
        """The name of the solver, kept in `modes.solver`."""
        return type(self).__name__

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
    """What a person, and the driver, needs to know of a step."""

    metrics: dict[str, Any]
    """Numbers and lists of them, which are logged: `eigenvalues`, `residuals` and more."""
    finished: StopReason | None = None
    """Why the solver would not go on."""
    failure: str = ""
    """What went wrong, if the state is not to be used, and what to do."""


class SavedState(NamedTuple):
    """What a checkpoint holds of a state: a tree of arrays, and plain data from which its shapes are known."""

    arrays: Any
    about: Any = None


class SolverChoice(eqx.Module):
    """A solver, or what chooses one by what the problem is."""

    @abstractmethod
    def resolved(self, problem: Problem) -> "Solver":
        """The solver for this problem."""


class Solver(SolverChoice):
    """Settings in the object, arrays in the state; the driver does the rest: time, callbacks, checkpoints, stopping.

    A state is a named tuple with the number of steps behind it in its field `step`. The key is that of the run: fold
    the step into it, so that a resumed run has the same bits.
    """

    has_long_steps: ClassVar[bool] = False
    """Whether a step is so much work that its errors are worth a look, where there is a `tol`, after each."""

    @abstractmethod
    def why_not(self, problem: Problem) -> str | None:
        """What of the problem it cannot do, in one sentence that says what to do instead."""

    @abstractmethod
    def init(self, problem: Problem, key: PRNGKeyArray) -> Any:
        """The state before the first step."""

    @abstractmethod
    def step(self, problem: Problem, state: Any, key: PRNGKeyArray) -> tuple[Any, Info]:
        """One refinement, or a chunk of updates."""

    @abstractmethod
    def modes(self, problem: Problem, state: Any) -> Modes:
        """The functions as they are now, with their errors: at the end, and now and then where a `tol` is asked for."""

    def resolved(self, problem: Problem) -> "Solver":
        """Itself, with what it leaves to the problem filled in."""
        return self

    def prepared(self, problem: Problem) -> Problem:
        """The problem with what the solver fills in, such as a network; refused if parts do not fit."""
        problem.look()
        return problem

    @abstractmethod
    def total(self, problem: Problem, state: Any) -> int:
        """The number of steps at which the run ends at the latest."""

    def advice(self, problem: Problem, modes: Modes) -> str:
        """What to do about errors that are large, in a sentence, if it knows better than why it ended tells."""
        return ""

    def saved(self, state: Any) -> SavedState:
        """What a checkpoint must hold of a state."""
        return SavedState(state)

    def restored(self, problem: Problem, key: PRNGKeyArray, about: Any, load: Load) -> Any:
        """The state that was saved, with what was saved about it; the initial state tells the shapes."""
        return load(self.init(problem, key))

    def settings(self, problem: Problem) -> dict[str, Any]:
        """What a run that goes on must have the same, as plain data: the problem, and what the solver is set to."""
        own = {field.name: described(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return own | {"source": described(problem.sampler), "operator": problem.fingerprint()}

    @property
    def name(self) -> str:
        """By which the result says what found it."""
        return type(self).__name__

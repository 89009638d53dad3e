"""The state of a run: the solver's, the random key and the step."""

from typing import Any, NamedTuple, Protocol

from jaxtyping import Array, Bool, Float, Int, UInt32

from eigenax.core.batch import Batch
from eigenax.operators.base import Operator


class Info(Protocol):
    """What a step tells: at least these."""

    @property
    def eigenvalues(self) -> Float[Array, " k"]:
        """Rayleigh quotients of this step's batch."""
        ...

    @property
    def healthy(self) -> Bool[Array, ""]:
        """False once anything is not finite."""
        ...

    def _asdict(self) -> dict[str, Array]: ...


class Solver(Protocol):
    """How the functions learn: `init` makes a state, `step` is a pure function of state and batch."""

    def init(self, network: Any, outputs: int) -> Any:
        """The state before the first step, with the network in its `network`."""
        ...

    def step(self, operator: Operator, state: Any, batch: Batch) -> tuple[Any, Any]:
        """The next state, and an `Info`."""
        ...


class RunState(NamedTuple):
    """Everything a run needs to go on."""

    solver: Any
    key: UInt32[Array, " words"]
    """The raw data of the run's random key; a step's key is this one folded with the step."""
    step: Int[Array, ""]

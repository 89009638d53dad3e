"""The solver: how the functions learn."""

from abc import abstractmethod
from typing import Any

import equinox as eqx

from eigenax.core.batch import Batch
from eigenax.operators.base import Operator


class Solver(eqx.Module):
    """Hyperparameters in the object, arrays in the state; a step is a pure function of state and batch."""

    @abstractmethod
    def init(self, network: Any, outputs: int) -> Any:
        """The state before the first step, a named tuple with the network in its field `network`."""

    @abstractmethod
    def step(self, operator: Operator, state: Any, batch: Batch) -> tuple[Any, Any]:
        """The next state, and a named tuple of what a person needs: `eigenvalues`, `residuals`, `healthy` and more
        numbers."""

"""The solver: how the functions learn."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, Float

from eigenax.core.batch import Batch
from eigenax.operators.base import Operator


class Solver(eqx.Module):
    """Hyperparameters in the object, arrays in the state; a step is a pure function of state and batch."""

    wants_separate: ClassVar[bool] = False
    """Whether it is at its best with a network of its own for each function."""
    trouble: ClassVar[str] = (
        "the covariance of the functions has no Cholesky factor or a gradient is not finite; lower the learning rate, "
        "raise the averaging rate towards 1, or enlarge the batch"
    )
    """What it means that a step is not healthy, and what to do."""

    @abstractmethod
    def init(self, network: Any, outputs: int) -> Any:
        """The state before the first step, a named tuple with the network in its field `network`."""

    @abstractmethod
    def step(self, operator: Operator, state: Any, batch: Batch) -> tuple[Any, Any]:
        """The next state, and a named tuple of what a person needs: `eigenvalues`, `residuals`, `healthy` and more
        numbers."""


def with_pullback(network: Any, batch: Batch) -> tuple[Float[Array, "b k"], Callable[[Float[Array, "b k"]], Any]]:
    """U at the points of a batch, and the map from cotangents of u to parameters."""
    parameters, static = eqx.partition(network, eqx.is_inexact_array)
    u, pullback = jax.vjp(lambda p: jax.vmap(eqx.combine(p, static))(batch.x), parameters)
    return u, lambda cotangent: pullback(cotangent)[0]

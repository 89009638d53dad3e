"""Eigenpurposes: Gymnasium environments that pay for going where an eigenfunction leads."""

from typing import Any

import gymnasium
import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenax.estimators.laplacian import LaplacianRepresentation, value_at


class Eigenpurpose(gymnasium.Wrapper):
    """An environment whose reward is the change of an eigenfunction from one observation to the next.

    An agent of any library learns to go where component `component` of the representation is largest, or smallest with
    `sign=-1`. What the environment itself pays is `info["reward"]`.
    """

    def __init__(self, env: Any, representation: LaplacianRepresentation, component: int, sign: float = 1.0):
        super().__init__(env)
        check_is_fitted(representation)
        if not 0 <= component < representation.modes_.n:
            raise ValueError(f"component must be from 0 to {representation.modes_.n - 1}; got {component}")
        self.representation, self.component, self.sign = representation, component, sign
        states = representation.states_
        self._table = representation.transform(np.arange(states)) if states else None
        self._seen: Any = None
        self._value = 0.0

    def reset(self, **settings: Any) -> tuple[Any, dict[str, Any]]:
        """A new episode."""
        observation, info = self.env.reset(**settings)
        self._value = self._of(observation, observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step, and how far it went up the eigenfunction."""
        before, (observation, paid, terminated, truncated, info) = self._value, self.env.step(action)
        self._value = self._of(observation, self._seen)
        return observation, self._value - before, terminated, truncated, info | {"reward": paid}

    def _of(self, observation: Any, previous: Any) -> float:
        self._seen = np.array(observation)
        if self._table is None:
            values = value_at(self.representation, observation, previous)
        elif 0 <= observation < len(self._table):
            values = self._table[observation]
        else:
            raise ValueError(
                f"state {observation} is none of the {len(self._table)} that the representation knows; fit it on more "
                "transitions, or on the environment"
            )
        return self.sign * float(values[self.component])

"""Eigenpurposes: Gymnasium environments that reward an agent for climbing an eigenfunction."""

from typing import Any

import gymnasium
import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenax.estimators.laplacian import LaplacianRepresentation, value_at


class Eigenpurpose(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """An environment whose reward is the change of an eigenfunction from one observation to the next.

    An agent of any library then learns to go where component `component` of the representation is largest, or smallest
    with `sign=-1`. The reward of the environment itself is in `info["reward"]`. A state that the representation has
    never visited gives no reward: it is taken to have the value of the state before it.
    """

    def __init__(self, env: Any, representation: LaplacianRepresentation, component: int, sign: float = 1.0):
        check_is_fitted(representation)
        n, states = representation.modes_.n, representation.states_
        if not isinstance(component, int | np.integer) or not 0 <= component < n:
            raise ValueError(f"component must be a whole number from 0 to {n - 1}; got {component!r}")
        if sign not in (1, -1):
            raise ValueError(f"sign must be 1 or -1; got {sign!r}")
        if states and not hasattr(env.observation_space, "n"):
            raise ValueError(
                "env must have state numbers as observations, since the representation was learned from states 0 to "
                f"{states - 1}; got {env.observation_space}"
            )
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, representation=representation, component=component, sign=sign
        )
        super().__init__(env)
        self.representation, self.component, self.sign = representation, component, sign
        self._table = representation.transform(np.arange(states)) if states else None
        self._previous: Any = None
        self._value: float | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._value = self._value_at(observation, observation, np.nan)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step; the reward is how far the eigenfunction rose."""
        if self._value is None:
            raise gymnasium.error.ResetNeeded("call reset before step: a reward is a change since the last observation")
        before, (observation, own_reward, terminated, truncated, info) = self._value, self.env.step(action)
        self._value = self._value_at(observation, self._previous, before)
        change = 0.0 if np.isnan(before) else self._value - before  # NaN until a known state is reached
        return observation, change, terminated, truncated, info | {"reward": own_reward}

    def _value_at(self, observation: Any, previous: Any, unknown: float) -> float:
        """The function at an observation; `unknown` where the representation does not know it."""
        self._previous = np.array(observation)
        if self._table is None:
            values = value_at(self.representation, observation, previous)
        elif 0 <= observation < len(self._table):
            values = self._table[observation]
        else:
            raise ValueError(
                f"state {observation} is none of the {len(self._table)} that the representation knows; fit it on more "
                "transitions, or on the environment"
            )
        value = self.sign * float(values[self.component])
        return unknown if np.isnan(value) else value

"""Eigenpurposes: Gymnasium environments that pay for going where an eigenfunction leads."""

from typing import Any

import gymnasium
import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenax.estimators.laplacian import LaplacianRepresentation, value_at


class Eigenpurpose(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """An environment whose reward is the change of an eigenfunction from one observation to the next.

    An agent of any library learns to go where component `component` of the representation is largest, or smallest with
    `sign=-1`. What the environment itself pays is `info["reward"]`. A state that the representation has never visited
    pays nothing: it counts as much as the one before it.
    """

    def __init__(self, env: Any, representation: LaplacianRepresentation, component: int, sign: float = 1.0):
        check_is_fitted(representation)
        n, states = representation.modes_.n, representation.states_
        if not isinstance(component, int | np.integer) or not 0 <= component < n:
            raise ValueError(f"component must be a whole number from 0 to {n - 1}; got {component!r}")
        if sign not in (1, -1):
            raise ValueError(f"sign must be 1 or -1; got {sign!r}")
        if states and not hasattr(env.observation_space, "n"):
            raise ValueError(f"the representation is of states 0 to {states - 1}; env has {env.observation_space}")
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, representation=representation, component=component, sign=sign
        )
        super().__init__(env)
        self.representation, self.component, self.sign = representation, component, sign
        self._table = representation.transform(np.arange(states)) if states else None
        self._seen: Any = None
        self._value: float | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._value = self._of(observation, observation, np.nan)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step, and how far it went up the eigenfunction."""
        if self._value is None:
            raise gymnasium.error.ResetNeeded("call reset before step: a reward is a change since the last observation")
        before, (observation, paid, terminated, truncated, info) = self._value, self.env.step(action)
        self._value = self._of(observation, self._seen, before)
        change = 0.0 if np.isnan(before) else self._value - before  # NaN until the first state that is known
        return observation, change, terminated, truncated, info | {"reward": paid}

    def _of(self, observation: Any, previous: Any, unknown: float) -> float:
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
        value = self.sign * float(values[self.component])
        return unknown if np.isnan(value) else value

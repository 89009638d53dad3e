"""Recorded steps of an agent, as a source of transitions between stacks of frames."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from eigenax.sources.base import Source
from eigenax.sources.rows import Rows, rows_of

STACK = 4
"""Number of successive frames that the network sees."""
BRIGHTEST = 255.0
"""The largest value of a pixel."""


class Transition(NamedTuple):
    """Stacked frames, the action taken then, and the stack one step later."""

    x: Float[Array, "b stack h w"]
    action: Int[Array, " b"]
    after: Float[Array, "b stack h w"]
    weights: Float[Array, " b"]


def into_episode(starts: Bool[np.ndarray, " time"]) -> Int[np.ndarray, " time"]:
    """The number of earlier steps in the same episode, for each step.

    >>> into_episode(np.array([True, False, False, True, False]))
    array([0, 1, 2, 0, 1])
    """
    times = np.arange(len(starts))
    return times - np.maximum.accumulate(np.where(starts, times, 0))


def with_whole_stacks(
    starts: Bool[np.ndarray, " time"],
) -> tuple[Bool[np.ndarray, " time"], Int[np.ndarray, " episodes"]]:
    """Which steps have a whole stack of frames in their episode; where, among these, each later episode begins.

    >>> shown, episodes = with_whole_stacks(np.arange(10) % 5 == 0)
    >>> np.flatnonzero(shown), episodes
    (array([3, 4, 8, 9]), array([2]))
    """
    into = into_episode(starts)
    shown = into >= STACK - 1
    return shown, np.flatnonzero(into[shown] == STACK - 1)[1:]


class AgentSteps(Source):
    """Transitions of an agent within episodes, as a source; pixels are between 0 and 1."""

    frames: Rows
    actions: UInt8[Array, " time"]
    firsts: Int[Array, " transitions"]
    """The number of the first frame of each transition."""

    def __init__(self, frames: Any, actions: np.ndarray, starts: Bool[np.ndarray, " time"]):
        self.frames, self.actions = rows_of([frames]), jnp.asarray(actions)
        self.firsts = jnp.asarray(np.flatnonzero(into_episode(starts) >= STACK) - STACK, jnp.int32)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of stacked frames."""
        return (STACK, *self.frames.shape)

    def sample(self, key: PRNGKeyArray, size: int) -> Any:
        """This many random transitions."""
        first = self.firsts[jax.random.randint(key, (size,), 0, len(self.firsts))]
        frames = self.frames.at(first[:, None] + jnp.arange(STACK + 1)).astype(float) / BRIGHTEST
        # An action is stored with the frame that it led to.
        action = self.actions[first + STACK].astype(jnp.int32)
        return Transition(frames[:, :-1], action, frames[:, 1:], jnp.ones(size))

    def draw(self, state: Any, functions: Any, key: PRNGKeyArray, size: int) -> tuple[Any, Any]:
        """The same as `sample`. A transition holds an action between two points, so that `Batch` would not do."""
        return state, self.sample(key, size)

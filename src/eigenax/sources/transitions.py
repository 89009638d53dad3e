"""Recorded steps of a process from one observation to the next; its states need not be numbered."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.checks import as_array, as_real, positive_int
from eigenax.core.batch import Pairs, pairs_of
from eigenax.sources.base import HostData, Source
from eigenax.sources.graph_data import TransitionData


class Transitions(Source):
    """Recorded steps, drawn uniformly; each is an observation and the next one.

    An observation is a row of numbers, an image, or the number of a state: integers, one for each step, are numbers of
    states and not features. The steps are edges of the graph that the process walks on, weighted by how often they
    were taken. `GraphLaplacian` on them is I − D⁻¹A of that graph, whose states need not be numbered.

    >>> place = np.arange(10)
    >>> Transitions(place, (place + 1) % 10).shape
    (1,)
    """

    before: Float[Array, "steps ..."]
    after: Float[Array, "steps ..."]
    host: HostData[TransitionData] = eqx.field(static=True)
    is_numbered: bool = eqx.field(static=True)
    draws = Pairs

    def __init__(self, observations: Any, next_observations: Any):
        both = [as_array("observations", one) for one in (observations, next_observations)]
        self.is_numbered = all(map(are_numbers, both))
        observations, next_observations = (one[:, None] if self.is_numbered and one.ndim == 1 else one for one in both)
        self.before = as_real("observations", observations)
        self.after = as_real("next_observations", next_observations)
        shapes = self.before.shape, self.after.shape
        if shapes[0] != shapes[1] or len(shapes[0]) < 2 or not shapes[0][0]:
            raise ValueError(
                "observations and next_observations must be arrays (steps, features…) of one shape, with one step at "
                f"least; got {shapes[0]} and {shapes[1]}. One number a step is observations[:, None]"
            )
        self.host = HostData(
            lambda: TransitionData(np.asarray(observations, np.float64), np.asarray(next_observations, np.float64))
        )
        if np.array_equal(np.asarray(observations), np.asarray(next_observations)):
            raise ValueError("next_observations are the observations themselves: nothing moves")

    @classmethod
    def of_environment(cls, env: Any, steps: int = 10_000, seed: int = 0) -> "Transitions":
        """Record the steps of a random agent in a Gymnasium environment; no step crosses the end of an episode."""
        episodes = random_episodes(env, positive_int("steps", steps), seed)
        return cls(*(np.concatenate(parts) for parts in zip(*((one[:-1], one[1:]) for one in episodes), strict=True)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an observation."""
        return self.before.shape[1:]

    @property
    def steps(self) -> TransitionData | None:
        """All steps; None if observations are images."""
        return self.host.data if self.before.ndim == 2 else None

    @property
    def numbered(self) -> bool:
        """Whether observations are integers, one for each step, and thus numbers of states."""
        return self.is_numbered

    def sample(self, key: PRNGKeyArray, size: int) -> Pairs:
        """`size` random steps, all of weight one."""
        index = jax.random.randint(key, (size,), 0, len(self.before))
        return pairs_of(self.before[index], self.after[index])


def are_numbers(observations: np.ndarray) -> bool:
    """Whether these are numbers of states: integers, one for each step, in a vector or a column.

    >>> are_numbers(np.array([[3], [1]])), are_numbers(np.array([[3.0], [1.0]]))
    (True, False)
    """
    return (
        np.issubdtype(observations.dtype, np.integer) and observations.ndim > 0 and observations.shape[1:] in {(), (1,)}
    )


def random_episodes(env: Any, steps: int, seed: int) -> list[np.ndarray]:
    """The observations of a random agent in this many steps of a Gymnasium environment, episode by episode."""
    if not hasattr(env, "action_space"):
        raise ValueError(f"env must be an environment that was made: gymnasium.make(…); got {env!r}")
    space = getattr(env, "observation_space", None)
    if type(space).__name__ in {"Dict", "Tuple"}:
        raise ValueError(
            f"env must have observations that are arrays or numbers; got {type(space).__name__}: give "
            "gymnasium.wrappers.FlattenObservation(env)"
        )
    env.action_space.seed(seed)
    episodes: list[list[Any]] = []
    over = True
    for step in range(steps):
        if over:
            observation, _ = env.reset(seed=seed if step == 0 else None)
            episodes.append([np.array(observation)])
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        episodes[-1].append(np.array(observation))  # an environment may write into the same array again
        over = terminated or truncated
    return [np.stack(one) for one in episodes]

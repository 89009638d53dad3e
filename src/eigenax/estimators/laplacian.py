"""The Laplacian representation of an environment's states, with the interface of scikit-learn."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_random_state

from eigenax.checks import check_dense, positive_int
from eigenax.estimators.slow_features import SlowFeatureAnalysis
from eigenax.operators.base import Operator
from eigenax.operators.graph import GraphLaplacian
from eigenax.sources.base import Source
from eigenax.sources.transitions import Transitions, are_numbers, random_episodes

MAX_STATES = 2**24
"""The largest number of states: the functions are evaluated at every one of them, visited or not."""


class LaplacianRepresentation(SlowFeatureAnalysis):
    """The smoothest functions on the graph of states that an agent moves on: eigenfunctions of the graph Laplacian.

    `fit` takes one of these:

    - a Gymnasium environment, in which a random agent takes `samples` steps;
    - a list of recorded episodes, each an array of observations;
    - recorded transitions, as a tuple (observations, next observations).

    Observations are state numbers, rows of numbers, or images with or without colours in the last axis. If they are
    state numbers, transitions are counted and the matrix of the counts is decomposed. Otherwise the functions are
    learned as in `SlowFeatureAnalysis`.

    `transform` returns a row of `n_components` values for each observation. For images these depend on the image and
    the one before it, except after learning from recorded transitions. At state numbers that were never visited, those
    not in `visited_`, the functions are unknown: NaN. `eigenvalues_` are the smallest of I − D⁻¹A, which are half the
    slowness of the functions.

    >>> walk = np.random.default_rng(0).choice([-1, 1], 100_000).cumsum() % 10  # around a ring of ten states
    >>> ring = LaplacianRepresentation(2, random_state=0).fit([walk])
    >>> bool(np.allclose((ring.transform(np.arange(10)) ** 2).sum(1), 2, atol=0.1))  # a circle
    True
    """

    _saved: ClassVar[tuple[str, ...]] = ("n_features_in_", "n_stack_", "states_")
    _operator: ClassVar[Operator] = GraphLaplacian()

    def __init__(
        self,
        n_components: Any = 2,
        *,
        samples: Any = 10_000,
        network: Any = None,
        steps: Any = 1000,
        clips: Any = 64,
        length: Any = 10,
        held_out: Any = None,
        random_state: Any = None,
        verbose: Any = False,
    ):
        super().__init__(
            n_components,
            network=network,
            steps=steps,
            clips=clips,
            length=length,
            held_out=held_out,
            random_state=random_state,
            verbose=verbose,
        )
        self.samples = samples

    def _validated(self, X: Any, reset: bool) -> list[np.ndarray]:
        """The episodes in X, as rows of numbers or as images with the colours in the first axis."""
        n_states = 0
        for one in X if isinstance(X, list | tuple) else [X]:
            check_dense("X", one)
        if _is_environment(X):
            n_states = _last_state(X) + 1
            X = self._random_walk(X)
        elif isinstance(X, tuple):
            X = _transitions(X)
        episodes = [np.asarray(one) for one in X] if isinstance(X, list) else [np.asarray(X)]
        if not episodes or (any(one.ndim == 0 for one in episodes) and not isinstance(X, list)):
            raise ValueError(
                "X must be an environment, a list of episodes, an array of observations or a tuple (observations, next "
                f"observations); got {X!r}"
            )
        if all(are_numbers(one) for one in episodes):
            episodes = self._state_rows(episodes, n_states, reset)
        elif reset:
            self.states_ = 0
        return super()._validated([_colours_first(one) for one in episodes], reset)

    def _source(self, episodes: list[np.ndarray], trains: bool) -> Source:
        """The time series to learn from; for state numbers, the transitions between them."""
        if not self.states_:
            return super()._source(episodes, trains)
        return Transitions(
            *(np.concatenate(part) for part in ([one[:-1] for one in episodes], [one[1:] for one in episodes]))
        )

    def _set_results(self) -> None:
        self.eigenvalues_ = self.modes_.eigenvalues
        self._n_features_out = self.modes_.n
        known = np.isfinite(self.modes_(np.arange(self.states_)[:, None]))[:, 0] if self.states_ else []
        self.visited_ = np.flatnonzero(known).tolist()

    def _random_walk(self, env: Any) -> list[np.ndarray]:
        """The observations of a random agent, one array for each episode."""
        steps, seed = positive_int("samples", self.samples), int(check_random_state(self.random_state).randint(2**31))
        episodes = random_episodes(env, steps, seed)
        # Functions of images need two images as their input, and a third one to make a pair.
        long_enough = [one for one in episodes if one.ndim < 3 or len(one) > 2]
        return long_enough or episodes

    def _state_rows(self, episodes: list[np.ndarray], n_states: int, reset: bool) -> list[np.ndarray]:
        """Episodes of state numbers as rows of one number; there are at least `n_states` states."""
        least, most = min(int(one.min()) for one in episodes), max(int(one.max()) for one in episodes)
        if most >= MAX_STATES:
            raise ValueError(
                f"X must hold state numbers from 0 to {MAX_STATES - 1}; got {most}. Renumber the states that occur: "
                "np.unique(X, return_inverse=True)[1]"
            )
        if reset:
            self.states_ = max(n_states, most + 1)
        if least < 0 or most >= self.states_:
            wanted = "from 0 on" if reset else f"from 0 to {self.states_ - 1}"
            raise ValueError(f"X must hold states {wanted}; got {least if least < 0 else most}")
        return [one.reshape(-1, 1) for one in episodes]


def _is_environment(X: Any) -> bool:
    if isinstance(X, type | str):
        raise ValueError(f"X must be an environment, not its name or class: give gymnasium.make(…); got {X!r}")
    if hasattr(X, "num_envs"):
        raise ValueError("X must be one environment; got several in a vector environment: give gymnasium.make(…)")
    return hasattr(X, "reset") and hasattr(X, "step")


def _transitions(X: tuple) -> list[np.ndarray]:
    """Recorded transitions as episodes of two observations each."""
    if len(X) != 2:
        raise ValueError(f"X as a tuple must be (observations, next observations); got {len(X)} parts")
    shapes = [np.shape(one) for one in X]
    if shapes[0] != shapes[1] or not shapes[0]:
        raise ValueError(f"X must have as many next observations as observations, of the same shape; got {shapes}")
    return [np.stack(pair) for pair in zip(*X, strict=True)]


def _last_state(env: Any) -> int:
    """The largest state number of an environment, or −1 if its observations are not state numbers."""
    space: Any = getattr(env, "observation_space", None)
    return int(space.start + space.n) - 1 if hasattr(space, "n") and hasattr(space, "start") else -1


def _colours_first(rows: np.ndarray) -> np.ndarray:
    return np.moveaxis(rows, -1, 1) if rows.ndim == 4 and rows.shape[-1] in {1, 3, 4} else rows


def value_at(
    representation: LaplacianRepresentation, observation: Any, previous: Any = None
) -> Float[np.ndarray, " n"]:
    """All functions at one observation, faster than `transform`; an image also needs the `previous` image."""
    current = np.asarray(observation)
    if current.ndim == 1:
        return np.asarray(representation.modes_(current))
    frames = (current if previous is None else previous, current)[-representation.n_stack_ :]
    images = [_colours_first(np.asarray(one)[None])[0] for one in frames]
    return np.asarray(representation.modes_(np.concatenate([one if one.ndim == 3 else one[None] for one in images])))

"""Deep slow feature analysis with the interface of scikit-learn."""

from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenax.assemble import solve
from eigenax.checks import positive_int
from eigenax.errors import SingularMomentsError
from eigenax.estimators.serializable import SerializableEstimator
from eigenax.modes import Modes
from eigenax.networks.base import WithConstant
from eigenax.operators.base import Operator
from eigenax.operators.slowness import Slowness
from eigenax.over_time import features_of
from eigenax.samples import BATCHES
from eigenax.solvers.spin import SpIN
from eigenax.sources.base import Source
from eigenax.sources.time_series import TimeSeries, episodes_of

DRAWS = 4096
"""Clips on which features are ordered and measured, at most."""
REMEMBERED = 2**14
"""Rows of earlier chunks that `partial_fit` keeps to train on beside the new ones."""


Me = TypeVar("Me", bound="SlowFeatureAnalysis")


class SlowFeatureAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SerializableEstimator):
    """The slowest functions of a series, found by a network: in order, uncorrelated, of mean zero and variance one.

    That is where a row counts once for each pair of successive rows that it is in, half as the first and half as the
    second: the rows at both ends of an episode count half.

    `fit` takes an array (time, …) or a list of such episodes. Rows of numbers, (time, d), are taken one by one by a
    perceptron with a random hidden layer, which needs no training; images, (time, h, w) or (time, c, h, w), two by two
    by a convolution, or one by one where no episode has more than two. A network of your own (an `equinox.Module` from
    one point to `n_components` values) takes their place. What is trained takes `steps` steps of `clips` clips of
    `length` points. `transform` returns one row for each row. `delta_values_`, of rows of numbers, is how slow features
    are on time that they were not found on, `modes_.training_eigenvalues` on the rows that they were.

    >>> t = np.arange(2000)
    >>> X = np.stack([np.sin(t / 50) + np.sin(t / 3), np.sin(t / 3)], 1)
    >>> slow = SlowFeatureAnalysis(n_components=1, random_state=0).fit(X)
    >>> bool(abs(np.corrcoef(slow.transform(X)[:, 0], np.sin(t / 50))[0, 1]) > 0.99)
    True
    """

    _format: ClassVar[str] = "eigenax-slow-features-6"
    _holds: ClassVar[str] = "slow features"
    _operator: ClassVar[Operator] = Slowness()
    _counts: ClassVar[tuple[str, ...]] = ("n_features_in_", "n_stack_")

    def __init__(
        self,
        n_components: Any = 2,
        *,
        network: Any = None,
        steps: Any = 1000,
        clips: Any = 64,
        length: Any = 10,
        random_state: Any = None,
        verbose: Any = False,
    ):
        self.n_components = n_components
        self.network = network
        self.steps = steps
        self.clips = clips
        self.length = length
        self.random_state = random_state
        self.verbose = verbose

    def fit(self: Me, X: Any, y: Any = None) -> Me:
        """Learn from an array (time, …) or a list of episodes; pairs of rows never cross the end of an episode."""
        episodes = self._checked(X, reset=True)
        self._learned(episodes, self.network)
        self._forget()
        self._remember(episodes)
        return self

    def partial_fit(self: Me, X: Any, y: Any = None) -> Me:
        """Go on learning from one more chunk, an episode or several of its own.

        Some clips of earlier chunks are remembered and trained on again, so that they are not forgotten.
        """
        first = not hasattr(self, "modes_")
        episodes = self._checked(X, reset=first)
        if first:
            self._forget()
        trains = self.network is not None or episodes[0].ndim > 2
        self._learned([*episodes, *self._memory], self.network if first or not trains else self.modes_.network)
        self._remember(episodes)
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "time n"]:
        """The features of each row; of a list of episodes, those of all rows in order."""
        check_is_fitted(self)
        return self._features(self._checked(X, reset=False))

    def _features(self, episodes: list[np.ndarray]) -> Float[np.ndarray, "time n"]:
        features = [features_of(self.modes_, rows, n_stack=self.n_stack_, progress=self.verbose) for rows in episodes]
        kind = episodes[0].dtype
        return np.concatenate(features).astype(kind if np.issubdtype(kind, np.floating) else np.float32)

    def _learned(self, episodes: list[np.ndarray], network: Any) -> "SlowFeatureAnalysis":
        n, seed = (
            positive_int("n_components", self.n_components),
            int(check_random_state(self.random_state).randint(2**31)),
        )
        steps, _, _ = (positive_int(name, getattr(self, name)) for name in ("steps", "clips", "length"))
        points = sum(len(rows) - self.n_stack_ + 1 for rows in episodes)
        trains = network is not None or episodes[0].ndim > 2
        if trains and n >= points:
            raise ValueError(f"n_components must be less than the points there are, {points}; got {n}")
        try:
            modes = solve(
                self._operator,
                self._source(episodes, trains),
                n + 1,
                network=network if network is None or network is not self.network else WithConstant(network),
                solver=self._solver(episodes) if trains else None,
                max_steps=steps if trains else None,
                seed=seed,
                progress=self.verbose,
            )
        except SingularMomentsError as error:
            raise ValueError(f"n_components = {n} is too many: {error}") from error
        self.modes_: Modes = modes[1:]
        self._told()
        return self

    def _source(self, episodes: list[np.ndarray], trains: bool) -> Source:
        """What is learned from."""
        return TimeSeries([np.asarray(rows) for rows in episodes], self._clip(episodes, trains), n_stack=self.n_stack_)

    def _clip(self, episodes: list[np.ndarray], trains: bool) -> int:
        """Points of a clip: all pairs are seen where nothing is trained."""
        shortest = min(map(len, episodes))
        return max(2, min(positive_int("length", self.length), shortest - self.n_stack_ + 1)) if trains else 2

    def _solver(self, episodes: list[np.ndarray]) -> SpIN:
        return SpIN(
            batch=positive_int("clips", self.clips), samples=max(BATCHES, min(DRAWS, 4 * sum(map(len, episodes))))
        )

    @property
    def _row_shape(self) -> tuple[int, ...]:
        """The shape of what it was fitted on, one row at a time."""
        shape = self.modes_.shape
        if len(shape) == 1:
            return shape
        channels, height, width = shape
        return (height, width) if channels == self.n_stack_ else (channels // self.n_stack_, height, width)

    def _checked(self, X: Any, reset: bool) -> list[np.ndarray]:
        """Episodes of finite numbers, as many features as before unless this is the beginning."""
        several = isinstance(X, list | tuple) and len(X) > 0 and all(np.ndim(one) >= 2 for one in X)
        if not several and np.asarray(X).ndim <= 2:
            least = 2 if reset else 1
            # The types of scikit-learn's own function are those of its default.
            rows: Any = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=least)  # pyright: ignore
            if reset:
                self.n_stack_ = 1
            elif rows.shape[1:] != self._row_shape:
                raise ValueError(f"X has rows of shape {rows.shape[1:]}, but this was fitted on {self._row_shape}")
            return [rows]
        episodes = episodes_of(X)
        _check_rows(episodes[0])
        episodes = [rows[:, 0] if rows.ndim == 4 and rows.shape[1] == 1 else rows for rows in episodes]
        if reset:
            self.n_features_in_ = int(np.prod(episodes[0].shape[1:]))
            self.n_stack_ = 1 if episodes[0].ndim == 2 or max(map(len, episodes)) == 2 else 2
        elif episodes[0].shape[1:] != self._row_shape:
            raise ValueError(f"X has rows of shape {episodes[0].shape[1:]}, but this was fitted on {self._row_shape}")
        if reset and all((rows == episodes[0][0]).all() for rows in episodes):
            raise ValueError("every row of X is the same: nothing in it is slow or fast")
        for number, rows in enumerate(episodes):
            if np.issubdtype(rows.dtype, np.floating) and not np.isfinite(rows).all():
                raise ValueError(f"episode {number} contains NaN or infinity; fill or cut out those rows")
            if reset and len(rows) < 1 + self.n_stack_:
                raise ValueError(f"episode {number} has {len(rows)} rows; at least {1 + self.n_stack_} are needed")
        return episodes

    def _remember(self, episodes: list[np.ndarray]) -> None:
        """Keep clips of all that was seen, each with the same chance, in the room that there is."""
        size = 10 * positive_int("length", self.length)
        most = max(1, REMEMBERED // size)
        rng = np.random.default_rng(self._seen)
        for rows in episodes:
            for start in range(0, len(rows), size):
                clip = np.array(rows[start : start + size])
                self._seen += 1
                if len(clip) < 1 + self.n_stack_:
                    continue
                if len(self._memory) < most:
                    self._memory.append(clip)
                elif (place := int(rng.integers(self._seen))) < most:
                    self._memory[place] = clip

    def _told(self) -> None:
        self.delta_values_ = self.modes_.eigenvalues
        self._n_features_out = self.modes_.n

    def _forget(self) -> None:
        self._memory: list[np.ndarray] = []
        self._seen = 0


def _check_rows(rows: np.ndarray) -> None:
    """Refuse what is no number, and colours in the last axis, which would be taken for the width."""
    if not (np.issubdtype(rows.dtype, np.number) or rows.dtype == bool):
        raise ValueError(f"X must hold numbers; got {rows.dtype}")
    if rows.ndim == 4 and rows.shape[-1] in {1, 3, 4} and min(rows.shape[1:3]) > 4:
        raise ValueError(
            f"X must have images (time, colours, height, width); got {rows.shape}, which looks like colours in the "
            "last axis: X.transpose(0, 3, 1, 2)"
        )

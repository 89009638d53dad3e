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
from eigenax.sources.time_series import TimeSeries, check_share, episodes_of, judging_share, rows_held_out

MAX_SAMPLES = 4096
"""The most clips on which trained features are ordered and measured."""
MEMORY_ROWS = 2**14
"""How many rows of earlier chunks `partial_fit` keeps, to train on them together with new rows."""


Estimator = TypeVar("Estimator", bound="SlowFeatureAnalysis")


class SlowFeatureAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SerializableEstimator):
    """The slowest functions of a time series: ordered, uncorrelated, with mean zero and variance one.

    Each row is weighted by the number of pairs of successive rows that it is in, so that the first and the last row of
    an episode count half.

    `fit` takes an array (time, …) or a list of such episodes, and the kind of rows decides the network:

    - Rows of numbers, (time, d), are the inputs of a perceptron with a random hidden layer, which needs no training.
    - Images, (time, h, w) or (time, c, h, w), are the inputs of a convolutional network, two successive images at a
      time, or one at a time if no episode has more than two.
    - A `network` of your own, an `equinox.Module` from one point to `n_components` values, replaces either.

    Convolutional networks and your own are trained for `steps` steps on `clips` clips of `length` points each.
    `held_out` is the share at the end of each episode that is kept as held-out data to judge the training. The default
    is an eighth, or nothing if the series is short.

    `transform` returns one row of features for each row. `delta_values_` measures how slow the features are on held-out
    data, and `modes_.training_eigenvalues` on the rows that they were learned from. If a training holds nothing out,
    `delta_values_` is measured on the training rows too.

    >>> t = np.arange(2000)
    >>> X = np.stack([np.sin(t / 50) + np.sin(t / 3), np.sin(t / 3)], 1)
    >>> slow = SlowFeatureAnalysis(n_components=1, random_state=0).fit(X)
    >>> bool(abs(np.corrcoef(slow.transform(X)[:, 0], np.sin(t / 50))[0, 1]) > 0.99)
    True
    """

    _format: ClassVar[str] = "eigenax-slow-features-7"
    _description: ClassVar[str] = "slow features"
    _operator: ClassVar[Operator] = Slowness()
    _saved: ClassVar[tuple[str, ...]] = ("n_features_in_", "n_stack_")

    def __init__(
        self,
        n_components: Any = 2,
        *,
        network: Any = None,
        steps: Any = 1000,
        clips: Any = 64,
        length: Any = 10,
        held_out: Any = None,
        random_state: Any = None,
        verbose: Any = False,
    ):
        self.n_components = n_components
        self.network = network
        self.steps = steps
        self.clips = clips
        self.length = length
        self.held_out = held_out
        self.random_state = random_state
        self.verbose = verbose

    def fit(self: Estimator, X: Any, y: Any = None) -> Estimator:
        """Learn from an array (time, …) or a list of episodes; no pair of rows crosses from one episode to the next."""
        episodes = self._validated(X, reset=True)
        self._fit_modes(episodes, self.network)
        self._clear_memory()
        self._remember(episodes)
        return self

    def partial_fit(self: Estimator, X: Any, y: Any = None) -> Estimator:
        """Continue learning with one more chunk, which is an episode or a list of episodes.

        A random sample of clips from earlier chunks is kept and trained on again, so that they are not forgotten. What
        is held out of such a clip may have been trained on before: after a second chunk of images, `delta_values_` may
        be too good.
        """
        first = not hasattr(self, "modes_")
        episodes = self._validated(X, reset=first)
        if first:
            self._clear_memory()
        trains = self.network is not None or episodes[0].ndim > 2
        self._fit_modes([*episodes, *self._memory], self.network if first or not trains else self.modes_.network)
        self._remember(episodes)
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "time n"]:
        """The features of each row, or of all rows of a list of episodes in order."""
        check_is_fitted(self)
        return self._features(self._validated(X, reset=False))

    def _features(self, episodes: list[np.ndarray]) -> Float[np.ndarray, "time n"]:
        features = [features_of(self.modes_, rows, n_stack=self.n_stack_, progress=self.verbose) for rows in episodes]
        kind = episodes[0].dtype
        return np.concatenate(features).astype(kind if np.issubdtype(kind, np.floating) else np.float32)

    def _fit_modes(self, episodes: list[np.ndarray], network: Any) -> None:
        """Learn `modes_`, all functions but the constant, and set the attributes that follow from them."""
        n, seed = (
            positive_int("n_components", self.n_components),
            int(check_random_state(self.random_state).randint(2**31)),
        )
        steps, _, _ = (positive_int(name, getattr(self, name)) for name in ("steps", "clips", "length"))
        trains = network is not None or episodes[0].ndim > 2
        points = sum(rows - self.n_stack_ + 1 for rows in self._training_lengths(episodes, trains))
        if trains and n >= points:
            raise ValueError(f"n_components must be less than the number of points, {points}; got {n}")
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
        self._set_results()

    def _source(self, episodes: list[np.ndarray], trains: bool) -> Source:
        """The time series to learn from."""
        series, share = [np.asarray(rows) for rows in episodes], self._held_out_share(episodes, trains)
        return TimeSeries(series, self._clip_length(episodes, trains), n_stack=self.n_stack_, held_out=share)

    def _held_out_share(self, episodes: list[np.ndarray], trains: bool) -> float:
        """The share of each episode that judges a training. Without training, the solver holds out blocks of time."""
        if not trains:
            return 0.0
        if self.held_out is not None:
            return check_share(self.held_out)
        return judging_share([len(rows) for rows in episodes], self.n_stack_)

    def _training_lengths(self, episodes: list[np.ndarray], trains: bool) -> list[int]:
        """The number of rows of each episode that are not held out."""
        share = self._held_out_share(episodes, trains)
        return [len(rows) - rows_held_out(len(rows), share, self.n_stack_) for rows in episodes]

    def _clip_length(self, episodes: list[np.ndarray], trains: bool) -> int:
        """The number of points in a clip. Without training all pairs are used, and a clip is one pair."""
        shortest = min(self._training_lengths(episodes, trains))
        return max(2, min(positive_int("length", self.length), shortest - self.n_stack_ + 1)) if trains else 2

    def _solver(self, episodes: list[np.ndarray]) -> SpIN:
        return SpIN(
            batch=positive_int("clips", self.clips), samples=max(BATCHES, min(MAX_SAMPLES, 4 * sum(map(len, episodes))))
        )

    @property
    def _row_shape(self) -> tuple[int, ...]:
        """The shape of one row of the data that it was fitted on."""
        shape = self.modes_.shape
        if len(shape) == 1:
            return shape
        channels, height, width = shape
        return (height, width) if channels == self.n_stack_ else (channels // self.n_stack_, height, width)

    def _validated(self, X: Any, reset: bool) -> list[np.ndarray]:
        """The episodes in X, which must be finite numbers and, unless `reset`, have rows of the shape seen before."""
        several = isinstance(X, list | tuple) and len(X) > 0 and all(np.ndim(one) >= 2 for one in X)
        if not several and np.asarray(X).ndim <= 2:
            least = 2 if reset else 1
            # scikit-learn annotates its function with the types of the default values only.
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
            raise ValueError("every row of X is the same: no function of it changes")
        for number, rows in enumerate(episodes):
            if np.issubdtype(rows.dtype, np.floating) and not np.isfinite(rows).all():
                raise ValueError(f"episode {number} contains NaN or infinity; fill or cut out those rows")
            if reset and len(rows) < 1 + self.n_stack_:
                raise ValueError(f"episode {number} has {len(rows)} rows; at least {1 + self.n_stack_} are needed")
        return episodes

    def _remember(self, episodes: list[np.ndarray]) -> None:
        """Keep a random sample of the clips of all chunks, each with the same chance, of at most `MEMORY_ROWS` rows."""
        size = 10 * positive_int("length", self.length)
        most = max(1, MEMORY_ROWS // size)
        rng = np.random.default_rng(self._n_seen)
        for rows in episodes:
            for start in range(0, len(rows), size):
                clip = np.array(rows[start : start + size])
                self._n_seen += 1
                if len(clip) < 1 + self.n_stack_:
                    continue
                if len(self._memory) < most:
                    self._memory.append(clip)
                elif (place := int(rng.integers(self._n_seen))) < most:
                    self._memory[place] = clip

    def _set_results(self) -> None:
        self.delta_values_ = self.modes_.eigenvalues
        self._n_features_out = self.modes_.n

    def _clear_memory(self) -> None:
        self._memory: list[np.ndarray] = []
        self._n_seen = 0


def _check_rows(rows: np.ndarray) -> None:
    """Refuse rows that are not numbers, and images with colours in the last axis, where the width is expected."""
    if not (np.issubdtype(rows.dtype, np.number) or rows.dtype == bool):
        raise ValueError(f"X must hold numbers; got {rows.dtype}")
    if rows.ndim == 4 and rows.shape[-1] in {1, 3, 4} and min(rows.shape[1:3]) > 4:
        raise ValueError(
            f"X must have images (time, colours, height, width); got {rows.shape}, which looks like colours in the "
            "last axis: X.transpose(0, 3, 1, 2)"
        )

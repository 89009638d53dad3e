"""Slow features of rows of numbers without training: the slowest combinations of random waves."""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float

from eigenax.errors import SingularMomentsError
from eigenax.modes import Modes
from eigenax.networks.base import HiddenLayer, OnInputs
from eigenax.networks.features import ScaledInputs
from eigenax.networks.mlp import MLP
from eigenax.training.progress import progress_track

COUNTS, SPEEDS = (256, 1024), (0.25, 0.5, 1.0, 2.0)
"""How many waves, and how fast they change over a standard deviation of the inputs; held-out time chooses."""
RIDGES = tuple(10.0**-power for power in range(2, 12))
"""What large coefficients cost; held-out time chooses for each feature, and the largest of those that do as well."""
AS_WELL, ONE_BY_ONE = 1.1, 12
UNCHOSEN, ROUNDING = RIDGES[3], 1e-12
HELD_OUT, LEAST_HELD_OUT = 1 / 3, 20
"""The share of each episode, at its end and at its beginning, that chooses, and the rows there must be of it."""
ROWS_PER_WAVE = 2
LOOKED_AT, PIECE, GROUPS = 50_000, 8192, 16
"""Rows that the choice is made on, rows that are held at once, and groups whose scatter is the standard error."""

Episodes = Sequence[Float[np.ndarray, "_ d"]]


class RandomWaves(NamedTuple):
    """sin(z W + b) of standardised rows z; each wave sees a few columns or all of them."""

    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, "d f"]
    phases: Float[np.ndarray, " f"]

    def __call__(self, rows: Float[np.ndarray, "time d"]) -> Float[np.ndarray, "time f"]:
        """Their values, in float64."""
        return np.sin((rows - self.centre) / self.scale @ self.weights + self.phases)

    def network(self) -> OnInputs:
        """The same waves, and a constant after them, as the hidden layer of a perceptron."""
        inputs = ScaledInputs(tuple(self.centre.tolist()), tuple(self.scale.tolist()))
        empty = MLP(1, 1, width=1, depth=1, activation="sin", sparsity="none", key=jax.random.key(0))
        outputs = jnp.zeros((1, len(self.phases)))
        mlp = eqx.tree_at(
            lambda m: (m.weights, m.biases),
            empty,
            ((jnp.asarray(self.weights.T), outputs), (jnp.asarray(self.phases), jnp.zeros(1))),
        )
        return OnInputs(inputs, HiddenLayer(mlp))


def slow_waves(episodes: Episodes, n: int, seed: int = 0, progress: bool = False) -> Modes:
    """The n slowest combinations of random waves of the rows of one or more series, without the constant.

    Linear slow feature analysis of sines of random combinations of the columns, in float64. How many waves, how fast,
    and what large coefficients cost is what gives the slowest features on the last and on the first third of each
    episode, when found on the rest (of the first `LOOKED_AT` rows or so, if there are more); then all rows are used.

    >>> t = np.arange(2000)
    >>> modes = slow_waves([np.stack([np.sin(t / 50) + np.sin(t / 3), np.sin(t / 3)], 1)], n=1)
    >>> float(modes.eigenvalues[0]) < 1e-3
    True
    """
    episodes = [np.asarray(rows, np.float64) for rows in episodes]
    if all((rows == episodes[0][0]).all() for rows in episodes):
        raise ValueError("every row of the series is the same: nothing in it is slow or fast")
    waves, ridges = _chosen(episodes, n, seed, progress)
    series = _Series.of(episodes)
    moments = _moments(waves, series)
    coefficients = _Whitened.of(moments, n).one_by_one(ridges, n)
    values = np.diag(coefficients.T @ moments.pi @ coefficients)
    order = np.argsort(values)
    values, coefficients = values[order], coefficients[:, order]
    function = np.concatenate([coefficients, -(moments.mean @ coefficients)[None]])
    errors, residuals = _errors(waves, series, function, values)
    signs = _signs(waves, series, function)
    return Modes(
        waves.network(), function * signs, values, errors, residuals, (episodes[0].shape[1],), "smallest", 0, seed,
        "float64", None, "nothing is trained",
    )  # fmt: skip


def _chosen(episodes: Episodes, n: int, seed: int, progress: bool) -> tuple[RandomWaves, list[float]]:
    """The waves and ridges whose features are slowest on a part of each episode which they were not found on."""
    looked_at = _first_rows(episodes, LOOKED_AT)
    most = max(n + 1, int((1 - HELD_OUT) * sum(map(len, looked_at))) // ROWS_PER_WAVE)
    counts = sorted({min(max(count, 4 * n), most) for count in COUNTS})
    candidates = [random_waves(looked_at, count, speed, seed) for count, speed in itertools.product(counts, SPEEDS)]
    folds = _folds(looked_at)
    if not folds:
        count = sum(map(len, episodes))
        warnings.warn(
            f"no part of {count} rows in {len(episodes)} episodes is long enough, and changes, to check features on: "
            "what is found may be chance",
            stacklevel=2,
        )
        return random_waves(looked_at, counts[0], SPEEDS[1], seed), [UNCHOSEN]
    best, choice, too_few = np.inf, None, None
    for waves in progress_track(candidates, "choosing waves", show=progress):
        try:
            tried = [_Tried(waves, _Whitened.of(_moments(waves, seen), n), held_out) for seen, held_out in folds]
        except SingularMomentsError as error:  # faster waves differ in more ways
            too_few = error
            continue
        # Logarithms: a feature ten times slower than the next one matters as much.
        scores = np.sum([np.log(fold.with_one_ridge(n)) for fold in tried], axis=(0, 2))
        if choice is None or scores.min() < best:
            best, choice = scores.min(), tried
    if choice is None:
        assert too_few is not None, "there is at least one candidate"
        raise too_few
    return choice[0].waves, _chosen_ridges(choice, n)


def _first_rows(episodes: Episodes, count: int) -> Episodes:
    """Whole episodes as far as they go, and the beginning of one more."""
    begins = np.cumsum([0, *(len(rows) for rows in episodes)])
    return [rows[: count - begin] for rows, begin in zip(episodes, begins, strict=False) if begin < count]


def _folds(episodes: Episodes) -> "list[tuple[_Series, _Series]]":
    """What to look for features in, and what to measure them on: the end of each episode, then its beginning.

    One alone would let through a function that is slow by chance, as where rows have been only once. Episodes that are
    too short for it are only looked in; if all are, the last of them are measured on, then the first. Parts that never
    change measure nothing.
    """
    cuts = [cut if (cut := int(HELD_OUT * len(rows))) > 1 else 0 for rows in episodes]
    if sum(cuts) >= LEAST_HELD_OUT:
        both = list(zip(episodes, cuts, strict=True))
        last = [rows[: len(rows) - cut] for rows, cut in both], [rows[-cut:] for rows, cut in both if cut]
        first = [rows[cut:] for rows, cut in both], [rows[:cut] for rows, cut in both if cut]
    else:
        some = int(HELD_OUT * len(episodes))
        if some < LEAST_HELD_OUT:
            return []
        last, first = (episodes[:-some], episodes[-some:]), (episodes[some:], episodes[:some])
    folds = [(_Series.of(seen), _Series.of(held_out)) for seen, held_out in (last, first)]
    return [fold for fold in folds if all((part.rows != part.rows[0]).any() for part in fold)]


class _Tried(NamedTuple):
    """Waves, their combinations on some rows, and the rows to measure these on."""

    waves: RandomWaves
    whitened: "_Whitened"
    held_out: "_Series"

    def with_one_ridge(self, n: int) -> Float[np.ndarray, "ridges n"]:
        """Slowness of the n slowest features with each ridge."""
        together = np.concatenate([self.whitened.slowest(ridge, n) for ridge in RIDGES], 1)
        return _slowness(self.waves, self.held_out, together).reshape(len(RIDGES), n)

    def after(self, ridges: list[float]) -> Float[np.ndarray, " ridges"]:
        """Slowness of the feature after those with these ridges, with each ridge for it."""
        count = len(ridges) + 1
        tried = np.stack([self.whitened.one_by_one([*ridges, ridge], count)[:, -1] for ridge in RIDGES], 1)
        return _slowness(self.waves, self.held_out, tried)


def _chosen_ridges(folds: list[_Tried], n: int) -> list[float]:
    """For one feature after the other, for the first ones, the largest ridge that is about as good as any."""
    ridges: list[float] = []
    for _ in range(min(n, ONE_BY_ONE)):
        slowness = np.exp(np.mean([np.log(fold.after(ridges)) for fold in folds], axis=0))
        ridges.append(RIDGES[int(np.argmax(slowness <= AS_WELL * slowness.min()))])
    return ridges


def random_waves(episodes: Episodes, count: int, speed: float, seed: int) -> RandomWaves:
    """Waves that look at 1, 2, 4 … or all columns, chosen at random, in units of the columns' standard deviations."""
    rows = np.concatenate(episodes)
    centre, scale = rows.mean(0), rows.std(0)
    # Constant columns tell nothing; what they seem to vary by is rounding.
    varies = scale > ROUNDING * np.abs(rows).max(0)
    scale = np.where(varies, scale, 1.0)
    rng, columns = np.random.default_rng(seed), rows.shape[1]
    most = int(np.ceil(np.log2(columns))) if columns > 1 else 0
    looks_at = np.minimum(columns, 2 ** rng.integers(0, most + 1, count))
    chosen = rng.random((columns, count)).argsort(0) < looks_at
    weights = speed * rng.normal(size=(columns, count)) * (chosen & varies[:, None]) / np.sqrt(looks_at)
    phases = rng.uniform(-np.pi, np.pi, count)
    # The network that will evaluate them holds its numbers in float32.
    weights, phases = (part.astype(np.float32).astype(np.float64) for part in (weights, phases))
    return RandomWaves(centre, scale, weights, phases)


class _Moments(NamedTuple):
    mean: Float[np.ndarray, " f"]
    sigma: Float[np.ndarray, "f f"]
    pi: Float[np.ndarray, "f f"]
    rank: int
    """How many functions can differ, from their means, on the rows there are."""


class _Series(NamedTuple):
    """The rows of all episodes, one after the other, and which of them are followed by the next."""

    rows: Float[np.ndarray, "time d"]
    follows: Bool[np.ndarray, " time"]

    def distinct(self, enough: int) -> int:
        """How many rows differ; where rows hardly ever repeat, not all are looked at."""
        some = self.rows[: 2 * enough]
        repeat = len(np.unique(some, axis=0)) < len(some)
        return len(np.unique(self.rows, axis=0)) if repeat else len(self.rows)

    @classmethod
    def of(cls, episodes: Episodes) -> "_Series":
        rows = np.concatenate(episodes)
        follows = np.ones(len(rows), bool)
        follows[np.cumsum([len(one) for one in episodes]) - 1] = False
        return cls(rows, follows)

    def pieces(self) -> Iterator[tuple[Float[np.ndarray, "p d"], Bool[np.ndarray, " q"]]]:
        """A few rows at a time and which of them are followed; after them one more, if there is one, to follow."""
        for start in range(0, len(self.rows), PIECE):
            yield self.rows[start : start + PIECE + 1], self.follows[start : start + PIECE]


def _changes(u: Float[np.ndarray, "p f"], follows: Bool[np.ndarray, " q"]) -> Float[np.ndarray, "r f"]:
    """From each row that is followed to the next."""
    return np.diff(u, axis=0)[follows[: len(u) - 1]]


def _moments(waves: RandomWaves, series: _Series) -> _Moments:
    """The mean and covariance of waves, and of their changes from row to row."""
    count = len(waves.phases)
    total, sigma, pi, points, pairs = np.zeros(count), np.zeros((count, count)), np.zeros((count, count)), 0, 0
    for rows, follows in series.pieces():
        u = waves(rows)
        u, change = u[: len(follows)], _changes(u, follows)
        total, sigma, pi = total + u.sum(0), sigma + u.T @ u, pi + change.T @ change
        points, pairs = points + len(u), pairs + len(change)
    mean = total / points
    rank = min(count, series.distinct(count) - 1)
    return _Moments(mean, sigma / points - np.outer(mean, mean), pi / max(pairs, 1), rank)


class _Whitened(NamedTuple):
    """Combinations of waves that are uncorrelated and of variance one, and how fast those change."""

    whitening: Float[np.ndarray, "f r"]
    matrix: Float[np.ndarray, "r r"]
    cost: Float[np.ndarray, " r"]
    """The square of the coefficients each one takes, of waves of variance one."""
    found: dict[tuple[tuple[float, ...], int], Float[np.ndarray, "r _"]]
    """Features that were found before, by the ridges of all up to them and how many they are."""

    @classmethod
    def of(cls, moments: _Moments, n: int) -> "_Whitened":
        variances = np.diag(moments.sigma)
        inverse = np.where(variances > ROUNDING, 1 / np.sqrt(variances.clip(ROUNDING)), 0)  # waves are of order one
        variances, axes = np.linalg.eigh(moments.sigma * np.outer(inverse, inverse))
        kept = variances > 1e-14 * len(variances) * variances[-1]
        kept[: len(kept) - moments.rank] = False  # what is left of these is rounding
        if kept.sum() < n:
            raise SingularMomentsError(
                f"the rows differ in too few ways for {n} features: {kept.sum()} functions of them can be told apart; "
                "ask for fewer, or give more rows"
            )
        variances, whitening = variances[kept], inverse[:, None] * axes[:, kept] / np.sqrt(variances[kept])
        return cls(whitening, whitening.T @ moments.pi @ whitening, 1 / variances, {})

    def slowest(self, ridge: float, n: int) -> Float[np.ndarray, "f n"]:
        """Coefficients of the n combinations that are slowest with one ridge for all."""
        penalised = self.matrix + ridge * np.diag(self.cost)
        return self.whitening @ scipy.linalg.eigh(penalised, subset_by_index=(0, n - 1))[1]

    def one_by_one(self, ridges: Sequence[float], n: int) -> Float[np.ndarray, "f n"]:
        """The slowest combination with the first ridge, the slowest uncorrelated one with the second, and so on; what
        is left with the last."""
        taken = np.zeros((len(self.matrix), 0))
        for count, ridge in enumerate(ridges, start=1):
            key, many = tuple(ridges[:count]), 1 if count < len(ridges) else n - count + 1
            if (key, many) not in self.found:
                penalised = self.matrix + ridge * np.diag(self.cost)
                # What is taken is moved to the other end of the spectrum.
                lifted = penalised + 2 * np.trace(penalised) * taken @ taken.T
                vectors = scipy.linalg.eigh(lifted, subset_by_index=(0, many - 1))[1]
                self.found[key, many] = np.linalg.qr(vectors - taken @ (taken.T @ vectors))[0]
            taken = np.concatenate([taken, self.found[key, many]], 1)
        return self.whitening @ taken


def _slowness(waves: RandomWaves, series: _Series, coefficients: Float[np.ndarray, "f m"]) -> Float[np.ndarray, " m"]:
    """E[(Δy)²] / Var[y] of combinations of waves."""
    y, changes = [], []
    for rows, follows in series.pieces():
        values = waves(rows) @ coefficients
        y.append(values[: len(follows)])
        changes.append(_changes(values, follows))
    return (np.concatenate(changes) ** 2).mean(0) / np.concatenate(y).var(0).clip(np.finfo(float).tiny)


def _values(waves: RandomWaves, rows: Float[np.ndarray, "time d"], function: Float[np.ndarray, "f n"]) -> np.ndarray:
    return waves(rows) @ function[:-1] + function[-1]


def _errors(
    waves: RandomWaves, series: _Series, function: Float[np.ndarray, "f n"], values: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Standard errors from the scatter between stretches of time, and residual norms as `Slowness.twice` has them."""
    influence, products = [], []
    for rows, follows in series.pieces():
        v, follows = _values(waves, rows, function), follows[: len(rows) - 1]
        change = np.diff(v, axis=0)
        influence.append((change**2 - values * (v[1:] ** 2 + v[:-1] ** 2) / 2)[follows])
        after, before = -2 * change[1:] - values * v[1:-1], 2 * change[:-1] - values * v[1:-1]
        products.append((after * before)[follows[1:] & follows[:-1]])
    groups = [part.mean(0) for part in np.array_split(np.concatenate(influence), GROUPS) if len(part)]
    errors = np.std(groups, axis=0, ddof=1) / np.sqrt(len(groups)) if len(groups) > 1 else np.full(len(values), np.nan)
    together = np.concatenate(products)
    squared = together.mean(0) if len(together) else np.full(len(values), -1.0)
    return errors, np.sqrt(np.where(squared >= 0, squared, np.nan))


def _signs(waves: RandomWaves, series: _Series, function: Float[np.ndarray, "f n"]) -> Float[np.ndarray, " n"]:
    """The sign of each function's largest value."""
    extremes = [(v.max(0), v.min(0)) for v in (_values(waves, rows, function) for rows, _ in series.pieces())]
    highest, lowest = (np.array(part) for part in zip(*extremes, strict=True))
    return np.where(highest.max(0) < -lowest.min(0), -1.0, 1.0)

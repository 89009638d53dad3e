"""Slow features of rows of numbers without training: the slowest combinations of random waves."""

import itertools
import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.errors import SingularMomentsError
from eigenax.galerkin.random_waves import (
    Episodes,
    RandomWaves,
    Series,
    Whitened,
    moments_of,
    random_waves,
    signs_of,
    slowness,
)
from eigenax.modes import Modes
from eigenax.training.progress import progress_track

COUNTS, SPEEDS = (256, 1024), (0.25, 0.5, 1.0, 2.0)
"""How many waves, and how fast they change over a standard deviation of the inputs; held-out time chooses."""
RIDGES = tuple(10.0**-power for power in range(2, 12))
"""What large coefficients cost; held-out time chooses for each feature, and the largest of those that do as well."""
AS_WELL, ONE_BY_ONE = 1.1, 12
UNCHOSEN = RIDGES[3]
HELD_OUT, LEAST_HELD_OUT = 1 / 3, 20
"""The share of each episode, at its end and at its beginning, that chooses, and the rows there must be of it."""
ROWS_PER_WAVE, WAVES_PER_DISTINCT = 2, 4
LOOKED_AT, GROUPS = 50_000, 16
"""Rows that the choice is made on, and groups whose scatter is the standard error."""


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
    series = Series.of(episodes)
    moments = moments_of(waves, series)
    coefficients = Whitened.of(moments, n).one_by_one(ridges, n)
    values = np.diag(coefficients.T @ moments.pi @ coefficients)
    order = np.argsort(values)
    values, coefficients = values[order], coefficients[:, order]
    function = np.concatenate([coefficients, -(moments.mean @ coefficients)[None]])
    errors, residuals = _errors(waves, series, function, values)
    signs = signs_of(waves.combined(rows, function) for rows, _ in series.pieces())
    return Modes(
        waves.network(), function * signs, values, errors, residuals, (episodes[0].shape[1],), "smallest", 0, seed,
        "float64", None, "nothing is trained",
    )  # fmt: skip


def _chosen(episodes: Episodes, n: int, seed: int, progress: bool) -> tuple[RandomWaves, list[float]]:
    """The waves and ridges whose features are slowest on a part of each episode which they were not found on."""
    looked_at = _first_rows(episodes, LOOKED_AT)
    rows, distinct = sum(map(len, looked_at)), Series.of(looked_at).distinct
    most = max(n + 1, min(int((1 - HELD_OUT) * rows) // ROWS_PER_WAVE, WAVES_PER_DISTINCT * distinct))
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
            tried = [_Tried(waves, Whitened.of(moments_of(waves, seen), n), held_out) for seen, held_out in folds]
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


def _folds(episodes: Episodes) -> "list[tuple[Series, Series]]":
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
    folds = [(Series.of(seen), Series.of(held_out)) for seen, held_out in (last, first)]
    return [fold for fold in folds if all((part.rows != part.rows[0]).any() for part in fold)]


class _Tried(NamedTuple):
    """Waves, their combinations on some rows, and the rows to measure these on."""

    waves: RandomWaves
    whitened: Whitened
    held_out: Series

    def with_one_ridge(self, n: int) -> Float[np.ndarray, "ridges n"]:
        """Slowness of the n slowest features with each ridge."""
        together = np.concatenate([self.whitened.slowest(ridge, n) for ridge in RIDGES], 1)
        return slowness(self.waves, self.held_out, together).reshape(len(RIDGES), n)

    def after(self, ridges: list[float]) -> Float[np.ndarray, " ridges"]:
        """Slowness of the feature after those with these ridges, with each ridge for it."""
        count = len(ridges) + 1
        tried = np.stack([self.whitened.one_by_one([*ridges, ridge], count)[:, -1] for ridge in RIDGES], 1)
        return slowness(self.waves, self.held_out, tried)


def _chosen_ridges(folds: list[_Tried], n: int) -> list[float]:
    """For one feature after the other, for the first ones, the largest ridge that is about as good as any."""
    ridges: list[float] = []
    for _ in range(min(n, ONE_BY_ONE)):
        found = np.exp(np.mean([np.log(fold.after(ridges)) for fold in folds], axis=0))
        ridges.append(RIDGES[int(np.argmax(found <= AS_WELL * found.min()))])
    return ridges


def _errors(
    waves: RandomWaves, series: Series, function: Float[np.ndarray, "f n"], values: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Standard errors from the scatter between stretches of time, and residual norms as `Slowness.twice` has them."""
    influence, products = [], []
    for rows, follows in series.pieces():
        v, follows = waves.combined(rows, function), follows[: len(rows) - 1]
        change = np.diff(v, axis=0)
        influence.append((change**2 - values * (v[1:] ** 2 + v[:-1] ** 2) / 2)[follows])
        after, before = -2 * change[1:] - values * v[1:-1], 2 * change[:-1] - values * v[1:-1]
        products.append((after * before)[follows[1:] & follows[:-1]])
    groups = [part.mean(0) for part in np.array_split(np.concatenate(influence), GROUPS) if len(part)]
    errors = np.std(groups, axis=0, ddof=1) / np.sqrt(len(groups)) if len(groups) > 1 else np.full(len(values), np.nan)
    together = np.concatenate(products)
    squared = together.mean(0) if len(together) else np.full(len(values), -1.0)
    return errors, np.sqrt(np.where(squared >= 0, squared, np.nan))

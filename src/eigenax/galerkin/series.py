"""Series of rows of numbers: the slowest combinations of random waves of them."""

import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.checks import check_not_constant_alone
from eigenax.core.ritz import Pencil, distance_to_exact
from eigenax.galerkin.base import Discretisation, Trial
from eigenax.galerkin.random_waves import (
    Episodes,
    RandomWaves,
    Series,
    moments_of,
    random_waves,
    signs_of,
    slowness,
)
from eigenax.galerkin.sizes import Sizes
from eigenax.measurement import Solution
from eigenax.networks.base import OnInputs
from eigenax.problem import Problem

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


class Fold(NamedTuple):
    """Rows to look for features in, and rows to measure them on."""

    seen: Series
    held_out: Series


class OnSeries(Discretisation):
    """Slow feature analysis of sines of random combinations of the columns, in float64.

    How many waves, how fast, and what large coefficients cost is what gives the slowest features on the last and on the
    first third of each episode, when found on the rest (of the first `LOOKED_AT` rows or so, if there are more); then
    all rows are used. The constant comes first.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        episodes, factor = problem.source.episodes, problem.operator.differences
        assert episodes is not None, "asked for before"
        assert factor is not None, "asked for before"
        if all((rows == episodes[0][0]).all() for rows in episodes):
            raise ValueError("every row of the series is the same: nothing in it is slow or fast")
        self.all_episodes, self.factor, self.n = episodes, factor, problem.n - 1
        check_not_constant_alone(problem.n)
        self.episodes = _first_rows(episodes, LOOKED_AT)
        self.folds = _folds(self.episodes)
        counts = self._counts(sizes)
        self.choices = list(itertools.product(counts, SPEEDS)) if self.folds else [(counts[0], SPEEDS[1])]
        if not self.folds:
            warnings.warn(
                f"no part of {sum(map(len, episodes))} rows in {len(episodes)} episodes is long enough, and changes, "
                "to check features on: what is found may be chance",
                stacklevel=2,
            )
        self.problem, self.count = problem, len(self.choices)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences between successive rows, from the slowest on."""
        p = problem
        known = (p.operator.differences or 0) * p.sign > 0 and p.source.episodes is not None
        return None if known else "Slowness or GraphLaplacian on Clips of rows of numbers, from the smallest on"

    def _counts(self, sizes: Sizes) -> list[int]:
        rows, distinct = sum(map(len, self.episodes)), Series.of(self.episodes).distinct
        most = max(self.n + 1, min(int((1 - HELD_OUT) * rows) // ROWS_PER_WAVE, WAVES_PER_DISTINCT * distinct))
        counts = sizes.counts(self.n, *COUNTS)
        if sizes.n_basis is not None:
            return counts
        return sorted({min(counts[0], most), min(counts[-1], most)})

    def trial(self, number: int, guess: Any) -> Trial:
        """Slowness on what is held out, with the best of one ridge for all features."""
        waves = random_waves(self.episodes, *self.choices[number], self.problem.seed)
        told = {"waves": self.choices[number][0], "speed": self.choices[number][1]}
        if not self.folds:
            return Trial(number, (waves, []), 0.0, told)
        tried = self._tried(waves)
        # Logarithms: a feature ten times slower than the next one matters as much.
        held_out = np.mean([np.log(fold.with_one_ridge(self.n)) for fold in tried], axis=0)
        best = held_out[held_out.sum(1).argmin()]
        told = {"eigenvalues": [0.0, *(self.factor * np.exp(best)).tolist()]} | told
        return Trial(number, (waves, tried), float(best.sum()), told)

    def _tried(self, waves: RandomWaves) -> "list[_Tried]":
        return [_Tried(waves, moments_of(waves, seen).pencil(self.n), held_out) for seen, held_out in self.folds]

    def solution(self, trial: Trial) -> Solution:
        """Of all rows, with a ridge for each of the first features that held-out time chooses."""
        (waves, tried), series = trial.basis, Series.of(self.all_episodes)
        ridges = _chosen_ridges(tried, self.n) if tried else [UNCHOSEN]
        moments = moments_of(waves, series)
        coefficients = moments.pencil(self.n).one_by_one(ridges, self.n)
        values = np.diag(coefficients.T @ moments.pi @ coefficients)
        order = np.argsort(values)
        values, coefficients = values[order], coefficients[:, order]
        features = np.concatenate([coefficients, -(moments.mean @ coefficients)[None]])
        scatter, residuals = _errors(waves, series, features, values)
        # Residuals do not know that a function may follow the noise of the very rows that it was found on.
        distance = np.fmax(distance_to_exact(values, residuals), _fall_short(tried, ridges, values))
        constant = np.eye(len(features))[:, -1:]
        scatter, distance, residuals = (
            np.concatenate([[0.0], abs(self.factor) * part]) for part in (scatter, distance, residuals)
        )
        values, coefficients = np.concatenate([[0.0], self.factor * values]), np.concatenate([constant, features], 1)
        return Solution(values, coefficients, scatter, distance, residuals)

    def network(self, trial: Trial) -> OnInputs:
        """The waves and a constant."""
        return trial.basis[0].network()

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """From all rows."""
        pieces = Series.of(self.all_episodes).pieces()
        return signs_of(trial.basis[0].combined(piece.rows, solution.coefficients) for piece in pieces)


def _first_rows(episodes: Episodes, count: int) -> Episodes:
    """Whole episodes as far as they go, and the beginning of one more."""
    begins = np.cumsum([0, *(len(rows) for rows in episodes)])
    return [rows[: count - begin] for rows, begin in zip(episodes, begins, strict=False) if begin < count]


def _folds(episodes: Episodes) -> list[Fold]:
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
    folds = [Fold(Series.of(seen), Series.of(held_out)) for seen, held_out in (last, first)]
    return [fold for fold in folds if all((part.rows != part.rows[0]).any() for part in fold)]


class _Tried(NamedTuple):
    """Waves, their combinations on some rows, and the rows to measure these on."""

    waves: RandomWaves
    pencil: Pencil
    held_out: Series

    def with_one_ridge(self, n: int) -> Float[np.ndarray, "ridges n"]:
        """Slowness of the n slowest features with each ridge."""
        together = np.concatenate([self.pencil.lowest(n, ridge).coefficients for ridge in RIDGES], 1)
        return slowness(self.waves, self.held_out, together).reshape(len(RIDGES), n)

    def after(self, ridges: list[float]) -> Float[np.ndarray, " ridges"]:
        """Slowness of the feature after those with these ridges, with each ridge for it."""
        count = len(ridges) + 1
        tried = np.stack([self.pencil.one_by_one([*ridges, ridge], count)[:, -1] for ridge in RIDGES], 1)
        return slowness(self.waves, self.held_out, tried)


def _chosen_ridges(folds: list[_Tried], n: int) -> list[float]:
    """For one feature after the other, for the first ones, the largest ridge that is about as good as any."""
    ridges: list[float] = []
    for _ in range(min(n, ONE_BY_ONE)):
        found = np.exp(np.mean([np.log(fold.after(ridges)) for fold in folds], axis=0))
        ridges.append(RIDGES[int(np.argmax(found <= AS_WELL * found.min()))])
    return ridges


def _fall_short(folds: list[_Tried], ridges: list[float], values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """How far values are from those, on held-out time, of features found on the rest; unknown without any."""
    n = len(values)
    elsewhere = [np.sort(slowness(one.waves, one.held_out, one.pencil.one_by_one(ridges, n))) for one in folds]
    return np.abs(np.mean(elsewhere, axis=0) - values) if folds else np.full(n, np.nan)


def _errors(
    waves: RandomWaves, series: Series, function: Float[np.ndarray, "f n"], values: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Standard errors from the scatter between stretches of time, and residual norms as `Slowness.twice` has them."""
    influence, products = [], []
    for rows, follows, _ in series.pieces():
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

"""Series of rows of numbers: the slowest combinations of random waves of them."""

import functools
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.cross_validation import CERTAIN, NOISE, Elsewhere, Fold, folds, slowness_of
from eigenax.bases.random_waves import (
    PIECE,
    Episodes,
    Moments,
    RandomWaves,
    Series,
    moments_of,
    random_waves,
    signs_of,
    slow_directions,
)
from eigenax.bases.search import faster_then_more
from eigenax.bases.sizes import Sizes
from eigenax.checks import check_not_constant_alone
from eigenax.core.ritz import Pencil, distance_to_exact
from eigenax.core.standard_error import scatter_of
from eigenax.errors import SingularMomentsError
from eigenax.measurement import Solution
from eigenax.networks.base import Compose
from eigenax.problem import Problem
from eigenax.stop_reason import StopReason

COUNTS, SPEEDS = (256, 1024), (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""How many waves, and how fast they change over a standard deviation of the inputs; held-out time chooses."""
RIDGES = tuple(10.0**-power for power in range(2, 12, 2))
"""What large coefficients cost; held-out time chooses for each feature, and the largest of those that do as well."""
AS_WELL, ONE_BY_ONE, UNCHOSEN = 1.01, 12, 1e-5
WORSE = 0.02
"""The sum of logarithms by which faster waves may be worse than slower ones while still faster ones are tried."""
THIRDS = 3
"""Of time: the last and the first of them choose. One alone would let through a function that is slow by chance."""
ROWS_PER_WAVE, WAVES_PER_DISTINCT = 3, 4
FULL = 0.6
"""The share of waves below which so few directions can be told apart that they span all there is."""
LOOKED_AT, BLOCKS = 50_000, 4
"""Rows that the choice is made on, and blocks of time each of which measures what is found on the others."""
FEW_COLUMNS = 512
"""Columns among which slow directions are looked for."""


class OnSeries(Discretisation):
    """Slow feature analysis of sines of random combinations of the columns, in float64.

    Half of the waves are combinations of the columns that are slow themselves. How many waves, how fast, and what large
    coefficients cost for each feature is what gives the slowest features on the last and on the first third of time,
    when found on the rest (of the first `LOOKED_AT` rows or so, if there are more); then all rows are used. The
    constant comes first.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        episodes, factor = problem.source.episodes, problem.operator.differences
        assert episodes is not None, "asked for before"
        assert factor is not None, "asked for before"
        if all((rows == episodes[0][0]).all() for rows in episodes):
            raise ValueError("every row of the series is the same: nothing in it is slow or fast")
        self.all_episodes, self.factor, self.n = episodes, factor, problem.n - 1
        check_not_constant_alone(problem.n)
        looked_at = _first_rows(episodes, LOOKED_AT)
        self.folds = folds(looked_at, THIRDS)[::2]
        if not self.folds:
            warnings.warn(
                f"no part of {sum(map(len, episodes))} rows in {len(episodes)} episodes is long enough, and changes, "
                "to check features on: what is found may be chance",
                stacklevel=2,
            )
        self.counts, self.seed = self._counts(Series.of(looked_at), sizes), problem.seed
        self.problem, self.count = problem, len(self.counts) * len(SPEEDS)

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes differences between successive rows, from the slowest on."""
        p = problem
        known = (p.operator.differences or 0) * p.sign > 0 and p.source.episodes is not None
        return None if known else "Slowness or GraphLaplacian on TimeSeries of rows of numbers, from the smallest on"

    def _counts(self, series: Series, sizes: Sizes) -> list[int]:
        most = max(self.n + 1, min(len(series.rows) // ROWS_PER_WAVE, WAVES_PER_DISTINCT * series.distinct))
        counts = sizes.counts(self.n, *COUNTS)
        if sizes.n_basis is not None:
            return counts
        return sorted({min(counts[0], most), min(counts[-1], most)})

    def next_trial(self, scores: Float[np.ndarray, " count"]) -> int | None:
        """Faster waves until features get no slower on held-out time, then more waves; the first, where none tells."""
        if not self.folds:
            return 0 if np.isnan(scores[0]) else None
        chosen = faster_then_more(scores.reshape(-1, len(SPEEDS)), WORSE)
        return None if chosen is None else chosen[0] * len(SPEEDS) + chosen[1]

    def trial(self, number: int, guess: Any) -> Trial:
        """Slowness on what is held out, of features each of which has the ridge that is best there."""
        more, speed = divmod(number, len(SPEEDS))
        told = {"waves": self.counts[more], "speed": SPEEDS[speed]}
        if not self.folds:
            return Trial(number, [UNCHOSEN], 0.0, told)
        tried = [self._tried(fold, number) for fold in self.folds]
        ridges = _chosen_ridges([one.narrowed(min(self.n, ONE_BY_ONE), RIDGES) for one in tried], self.n)
        # Logarithms: a feature ten times slower than the next one matters as much.
        logs = np.mean([np.log(one.narrowed(self.n, ridges).values(ridges, self.n)) for one in tried], axis=0)
        told = {"eigenvalues": [0.0, *(self.factor * np.exp(np.sort(logs))).tolist()]} | told
        rank = max(one.pencil.rank for one in tried)
        return Trial(number, ridges, float(logs.sum()), told, rank=rank)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Where no others are slower on held-out time, or more waves would be no further functions."""
        following, more = self.next_trial(scores), trial.number // len(SPEEDS)
        if following is None:
            return StopReason.HELD_OUT if self.folds else None
        return StopReason.SPANNED if following // len(SPEEDS) > more and best.rank < FULL * self.counts[more] else None

    def _tried(self, fold: Fold, number: int) -> "_Tried":
        seen = Series.of(fold.seen)
        waves = self._waves(seen, number)
        return _Tried(waves, moments_of(waves, seen).pencil(self.n), Series.of(fold.held_out))

    def _waves(self, series: Series, number: int) -> RandomWaves:
        """Those that a basis has on some of the rows: what is slow there must not be known from others."""
        more, speed = divmod(number, len(SPEEDS))
        several = 1 < series.rows.shape[1] <= FEW_COLUMNS
        directions = slow_directions(series) if several else None
        return random_waves(series.rows, self.counts[more], SPEEDS[speed], self.seed, directions)

    @functools.cached_property
    def _all(self) -> Series:
        return Series.of(self.all_episodes)

    def solution(self, trial: Trial) -> Solution:
        """Of all rows, with the ridges that held-out time chose, in order of their slowness on blocks of time that
        they were not found on: blocks that nothing was chosen by."""
        ridges, n = trial.basis, self.n
        found = self._found(self._all, trial.number, ridges)
        training, following = found.values[:n], found.values[n:].tolist()
        elsewhere = self._elsewhere(found, trial.number, ridges)
        values, scatter, _ = elsewhere or (training, np.full(n, np.nan), None)
        order, residuals = np.argsort(values), _residuals(found, self._all, n)
        # Residuals do not know that a function may follow the noise of the very rows that it was found on.
        distance = distance_to_exact(training, residuals, *following)
        distance = np.fmax(distance, np.abs(values - training)) if elsewhere else np.full(n, np.nan)
        note = Elsewhere(*(part[order] for part in elsewhere)).note(training[order], NOISE) if elsewhere else ""
        values, training = (np.append(0.0, self.factor * part[order]) for part in (values, training))
        scatter, distance, residuals = (
            np.append(0.0, abs(self.factor) * part[order]) for part in (scatter, distance, residuals)
        )
        constant = np.eye(len(found.features))[:, -1:]
        coefficients = np.concatenate([constant, found.features[:, :n][:, order]], 1)
        solution = Solution(values, coefficients, scatter, distance, residuals, note=note)
        return solution._replace(training_values=training) if elsewhere else solution

    def _found(self, series: Series, number: int, ridges: list[float]) -> "_Found":
        """The slowest functions of some rows, and one more if there is one."""
        waves = self._waves(series, number)
        moments = moments_of(waves, series)
        pencil = moments.pencil(self.n).narrowed(self.n + 1, sorted(set(ridges)))
        combinations = pencil.one_by_one(ridges, min(self.n + 1, pencil.rank))
        values = np.diag(combinations.T @ pencil.matrix @ combinations)
        order = np.append(np.argsort(values[: self.n]), np.arange(self.n, len(values)))
        coefficients = pencil.whitening @ combinations[:, order]
        features = np.concatenate([coefficients, -(moments.mean @ coefficients)[None]])
        return _Found(waves, features, values[order])

    def _elsewhere(self, found: "_Found", number: int, ridges: list[float]) -> Elsewhere | None:
        """How slow functions that are found like these are where they are not found; nothing if nothing tells."""
        parts: list[tuple[Series, np.ndarray]] = []
        for fold in folds(self.all_episodes, BLOCKS):
            try:
                there = self._found(Series.of(fold.seen), number, ridges)
            except SingularMomentsError:  # too many functions for these rows
                continue
            series = Series.of(fold.held_out)
            y = there.of(series, self.n)
            parts.append((series, y * np.where((y * found.of(series, self.n)).sum(0) < 0, -1, 1)))
        return slowness_of(parts) if parts else None

    def network(self, trial: Trial) -> Compose:
        """The waves and a constant."""
        return self._waves(self._all, trial.number).network()

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """From all rows."""
        waves = self._waves(self._all, trial.number)
        return signs_of(waves.combined(piece.rows, solution.coefficients) for piece in self._all.pieces())


def _first_rows(episodes: Episodes, count: int) -> Episodes:
    """Whole episodes as far as they go, and the beginning of one more."""
    begins = np.cumsum([0, *(len(rows) for rows in episodes)])
    return [rows[: count - begin] for rows, begin in zip(episodes, begins, strict=False) if begin < count]


class _Found(NamedTuple):
    """Combinations of waves and a constant, and their slowness where they were found."""

    waves: RandomWaves
    features: Float[np.ndarray, "f m"]
    values: Float[np.ndarray, " m"]

    def of(self, series: Series, n: int) -> Float[np.ndarray, "time n"]:
        """The first n of them on the rows of a series."""
        parts = np.array_split(series.rows, 1 + len(series.rows) // PIECE)
        return np.concatenate([self.waves.combined(rows, self.features[:, :n]) for rows in parts])


class _Tried(NamedTuple):
    """Waves, combinations of them on some rows, and the rows to measure these on."""

    waves: RandomWaves
    pencil: Pencil
    held_out: Series

    def narrowed(self, n: int, ridges: Sequence[float]) -> "_OnOthers":
        """Few combinations, and how they change and vary on the other rows."""
        pencil = self.pencil.narrowed(n, sorted(set(ridges)))
        return _OnOthers(pencil, moments_of(lambda rows: self.waves(rows) @ pencil.whitening, self.held_out))


class _OnOthers(NamedTuple):
    """Functions found on some rows, and their moments on others."""

    pencil: Pencil
    moments: Moments

    def slowness(self, combinations: Float[np.ndarray, "r m"]) -> Float[np.ndarray, " m"]:
        """E[(Δy)²] / Var[y] of combinations of these functions."""
        change, variance = (
            (combinations * (part @ combinations)).sum(0) for part in (self.moments.pi, self.moments.sigma)
        )
        tiny = np.finfo(float).tiny
        return change.clip(tiny) / variance.clip(tiny)

    def values(self, ridges: Sequence[float], n: int) -> Float[np.ndarray, " n"]:
        """Of the n slowest, with these ridges one after the other."""
        return self.slowness(self.pencil.one_by_one(ridges, n))


def _chosen_ridges(tried: list[_OnOthers], n: int) -> list[float]:
    """For one feature after the other, for the first ones, the largest ridge that is about as good as any."""
    ridges: list[float] = []
    taken = [np.zeros((one.pencil.rank, 0)) for one in tried]
    for _ in range(min(n, ONE_BY_ONE)):
        options = [
            np.concatenate([one.pencil.next_lowest(before, ridge) for ridge in RIDGES], 1)
            for one, before in zip(tried, taken, strict=True)
        ]
        logs = np.mean([np.log(one.slowness(each)) for one, each in zip(tried, options, strict=True)], axis=0)
        chosen = int(np.argmax(logs <= logs.min() + np.log(AS_WELL)))
        ridges.append(RIDGES[chosen])
        taken = [np.column_stack([before, each[:, chosen]]) for before, each in zip(taken, options, strict=True)]
    return ridges


def _residuals(found: _Found, series: Series, n: int) -> Float[np.ndarray, " n"]:
    """‖(K − λ) v‖ as `Slowness.independent_estimates` has it; unknown where rows do not tell it from zero."""
    values, products = found.values[:n], []
    for rows, follows, _ in series.pieces():
        v, follows = found.waves.combined(rows, found.features[:, :n]), follows[: len(rows) - 1]
        change = np.diff(v, axis=0)
        after, before = -2 * change[1:] - values * v[1:-1], 2 * change[:-1] - values * v[1:-1]
        products.append((after * before)[follows[1:] & follows[:-1]])
    together = np.concatenate(products)
    if not len(together):
        return np.full(n, np.nan)
    squared = together.mean(0)
    return np.sqrt(np.where(squared > CERTAIN * scatter_of(together), squared, np.nan))

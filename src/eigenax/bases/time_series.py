"""Time series of rows of numbers: slow feature analysis with random waves of the columns."""

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.cross_validation import CERTAIN, NOISE, Elsewhere, Fold, folds, slowness_of, with_held_out_values
from eigenax.bases.random_waves import (
    PIECE,
    Episodes,
    RandomWaves,
    Series,
    moments_of,
    random_waves,
    signs_of,
    slow_directions,
)
from eigenax.bases.ridge_choice import ONE_BY_ONE, RIDGES, HeldOutTrial, chosen_ridges
from eigenax.bases.search import faster_then_more
from eigenax.bases.sizes import Sizes
from eigenax.checks import check_not_constant_alone
from eigenax.core.ritz import distance_to_exact
from eigenax.core.standard_error import scatter_of
from eigenax.errors import SingularMomentsError
from eigenax.measurement.solution import Solution
from eigenax.networks.base import Compose
from eigenax.problem import Problem
from eigenax.stop_reason import StopReason

COUNTS = (256, 1024)
"""Waves of the small and of the large basis, unless numbers are asked for."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Frequencies of waves that are tried, per standard deviation of the inputs; held-out time chooses."""
UNCHOSEN = 1e-5
"""The ridge if there is no held-out time to choose it."""
WORSE = 0.02
"""Faster waves are tried until the sum of the logarithms of slowness is worse than the best by more than this."""
THIRDS = 3
"""Of so many blocks of time, the first and the last are held out to choose by: a function that is slow by chance in one
of them is not in the other."""
ROWS_PER_WAVE = 3
"""Rows that there must be for each wave."""
WAVES_PER_DISTINCT = 4
"""The most waves for each distinct row."""
FULL = 0.6
"""If fewer than this share of the waves are linearly independent, they span all functions there are."""
CHOSEN_ON = 50_000
"""The first rows, on which number, speed and ridges are chosen."""
BLOCKS = 4
"""Blocks of time; features are measured on each of them as found on the others."""
FEW_COLUMNS = 512
"""With more columns than this no slow directions are computed."""


class OnSeries(Discretisation):
    """Slow feature analysis with sines of random combinations of the columns, in float64.

    Half of the waves depend on combinations of the columns that are slow themselves. The number of waves, their speed
    and a ridge for each feature are chosen so that features are slowest on the first and the last third of time, when
    found on the rest; that uses the first `CHOSEN_ON` rows or so. The features are then found on all rows. The constant
    comes first.
    """

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        episodes, factor = problem.source.episodes, problem.operator.differences
        assert episodes is not None, "why_not has checked this"
        assert factor is not None, "why_not has checked this"
        if all((rows == episodes[0][0]).all() for rows in episodes):
            raise ValueError("every row of the series is the same: nothing in it is slow or fast")
        self.all_episodes, self.factor, self.n = episodes, factor, problem.n - 1
        check_not_constant_alone(problem.n)
        chosen_on = _first_rows(episodes, CHOSEN_ON)
        self.folds = folds(chosen_on, THIRDS)[::2]
        if not self.folds:
            warnings.warn(
                f"no part of {sum(map(len, episodes))} rows in {len(episodes)} episodes is long enough and not "
                "constant, so features cannot be checked on held-out rows: what is found may be chance",
                stacklevel=2,
            )
        self.counts, self.seed = self._counts(Series.of(chosen_on), sizes), problem.seed
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
        """Faster waves until features get no slower on held-out time, then more waves; just the first without folds."""
        if not self.folds:
            return 0 if np.isnan(scores[0]) else None
        chosen = faster_then_more(scores.reshape(-1, len(SPEEDS)), WORSE)
        return None if chosen is None else chosen[0] * len(SPEEDS) + chosen[1]

    def trial(self, number: int, guess: Any) -> Trial:
        """Scored by the slowness on held-out time of features that each have the best ridge there."""
        more, speed = divmod(number, len(SPEEDS))
        metrics = {"waves": self.counts[more], "speed": SPEEDS[speed]}
        if not self.folds:
            return Trial(number, [UNCHOSEN], 0.0, metrics)
        tried = [self._held_out_trial(fold, number) for fold in self.folds]
        ridges = chosen_ridges([one.narrowed(min(self.n, ONE_BY_ONE), RIDGES) for one in tried], self.n)
        # Logarithms give features of all time scales the same weight.
        logs = np.mean([np.log(one.narrowed(self.n, ridges).values(ridges, self.n)) for one in tried], axis=0)
        metrics = {"eigenvalues": [0.0, *(self.factor * np.exp(np.sort(logs))).tolist()]} | metrics
        rank = max(one.pencil.rank for one in tried)
        return Trial(number, ridges, float(logs.sum()), metrics, rank=rank)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """HELD_OUT if no other basis would be slower on held-out time, SPANNED if more waves add no functions."""
        following, more = self.next_trial(scores), trial.number // len(SPEEDS)
        if following is None:
            return StopReason.HELD_OUT if self.folds else None
        return StopReason.SPANNED if following // len(SPEEDS) > more and best.rank < FULL * self.counts[more] else None

    def _held_out_trial(self, fold: Fold, number: int) -> HeldOutTrial:
        seen = Series.of(fold.seen)
        waves = self._waves(seen, number)
        return HeldOutTrial(waves, moments_of(waves, seen).pencil(self.n), Series.of(fold.held_out))

    def _waves(self, series: Series, number: int) -> RandomWaves:
        """The waves of a basis. Slow directions come from these rows alone: held-out rows must not be seen."""
        more, speed = divmod(number, len(SPEEDS))
        few_columns = 1 < series.rows.shape[1] <= FEW_COLUMNS
        directions = slow_directions(series) if few_columns else None
        return random_waves(series.rows, self.counts[more], SPEEDS[speed], self.seed, directions)

    @functools.cached_property
    def _all_rows(self) -> Series:
        return Series.of(self.all_episodes)

    def solution(self, trial: Trial) -> Solution:
        """The features of all rows, with the chosen ridges.

        Their values, which also give their order, are the slowness on blocks of time that they were not found on. These
        blocks are not the thirds that the ridges were chosen on.
        """
        size, n = abs(self.factor), self.n
        features = self._features(self._all_rows, trial.number, trial.basis)
        slowness, residuals = features.values[:n], _residuals(features, self._all_rows, n)
        unknown = np.full(n, np.nan)
        found = Solution(size * slowness, features.features[:, :n], unknown, unknown, size * residuals)
        held_out = self._held_out(features, trial.number, trial.basis)
        if held_out:  # residuals do not show that a function may follow the noise of the rows it was found on
            distance = size * distance_to_exact(slowness, residuals, *features.values[n:].tolist())
            found = found._replace(basis_errors=distance)
            found = with_held_out_values(found, held_out.scaled(size), size * NOISE)
        return _with_constant(found, self.problem.sign)

    def _features(self, series: Series, number: int, ridges: list[float]) -> "Features":
        """The n slowest features of a series with these ridges, in order of slowness, and the next if there is one."""
        waves = self._waves(series, number)
        moments = moments_of(waves, series)
        pencil = moments.pencil(self.n).narrowed(self.n + 1, sorted(set(ridges)))
        combinations = pencil.one_by_one(ridges, min(self.n + 1, pencil.rank))
        values = np.diag(combinations.T @ pencil.matrix @ combinations)
        order = np.append(np.argsort(values[: self.n]), np.arange(self.n, len(values)))
        coefficients = pencil.whitening @ combinations[:, order]
        features = np.concatenate([coefficients, -(moments.mean @ coefficients)[None]])
        return Features(waves, features, values[order])

    def _held_out(self, found: "Features", number: int, ridges: list[float]) -> Elsewhere | None:
        """The slowness on each block of time of features found on the others; None if no block is informative."""
        parts: list[tuple[Series, np.ndarray]] = []
        for fold in folds(self.all_episodes, BLOCKS):
            try:
                there = self._features(Series.of(fold.seen), number, ridges)
            except SingularMomentsError:  # these rows allow fewer functions than were asked for
                continue
            series = Series.of(fold.held_out)
            y = there.of(series, self.n)
            parts.append((series, y * np.where((y * found.of(series, self.n)).sum(0) < 0, -1, 1)))
        return slowness_of(parts) if parts else None

    def network(self, trial: Trial) -> Compose:
        """The waves and a constant."""
        return self._waves(self._all_rows, trial.number).network()

    def signs(self, trial: Trial, solution: Solution) -> Float[np.ndarray, " n"]:
        """Signs from all rows."""
        waves = self._waves(self._all_rows, trial.number)
        return signs_of(waves.combined(piece.rows, solution.coefficients) for piece in self._all_rows.pieces())


def _first_rows(episodes: Episodes, count: int) -> Episodes:
    """The first `count` rows: whole episodes, and the beginning of one more."""
    begins = np.cumsum([0, *(len(rows) for rows in episodes)])
    return [rows[: count - begin] for rows, begin in zip(episodes, begins, strict=False) if begin < count]


class Features(NamedTuple):
    """Features, which combine waves and a constant, and their slowness on the rows they were found on."""

    waves: RandomWaves
    features: Float[np.ndarray, "f m"]
    values: Float[np.ndarray, " m"]

    def of(self, series: Series, n: int) -> Float[np.ndarray, "time n"]:
        """The first n of them on the rows of a series."""
        parts = np.array_split(series.rows, 1 + len(series.rows) // PIECE)
        return np.concatenate([self.waves.combined(rows, self.features[:, :n]) for rows in parts])


def _with_constant(found: Solution, sign: float) -> Solution:
    """The solution with the constant, which is the last of the waves, as first function; values times a sign."""
    training = found.training_values
    return found._replace(
        values=np.append(0.0, sign * found.values),
        coefficients=np.concatenate([np.eye(len(found.coefficients))[:, -1:], found.coefficients], 1),
        sampling_errors=np.append(0.0, found.sampling_errors),
        basis_errors=np.append(0.0, found.basis_errors),
        residuals=np.append(0.0, found.residuals),
        training_values=None if training is None else np.append(0.0, sign * training),
    )


def _residuals(found: Features, series: Series, n: int) -> Float[np.ndarray, " n"]:
    """‖(K − λ) v‖ from pairs of independent estimates, as for `Slowness`; NaN where not significantly positive."""
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

"""Cross-validation in time: blocks that functions are not found on show whether they are more than chance."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.random_waves import Episodes, Series
from eigenax.core.standard_error import scatter_of
from eigenax.measurement.solution import Solution

NOISE = 2
"""The slowness E[(Δy)²] / Var[y] of white noise, whose rows tell nothing of the next ones."""
LEAST_ROWS = 20
"""Rows that there must be on either side of a fold."""
MOST_SHIFT = 0.25
"""The end of a block is moved to the end of an episode if that is nearer than this share of the block."""
CERTAIN = 3
"""Differences of more than this many standard errors are significant."""
LEAST_GAP = 0.05
"""Differences between held-out and training values below this share of the former are too small to warn of."""
LEAST_VARIANCE = 0.25
"""Functions with less variance than this on held-out data, in units of that on training data, get a warning."""
MOST_NAMED = 3
"""The warning gives the values of this many functions."""


class Fold(NamedTuple):
    """Episodes that functions are found on, and held-out ones that they are measured on."""

    seen: Episodes
    held_out: Episodes

    @property
    def is_informative(self) -> bool:
        """Whether both sides have enough rows, and rows that change."""
        sides = [Series.of(side) for side in self if side]
        return len(sides) == len(self) and all(
            len(side.rows) >= LEAST_ROWS and side.follows.any() and bool((side.rows != side.rows[0]).any())
            for side in sides
        )


def folds(episodes: Episodes, count: int) -> list[Fold]:
    """`count` folds, each with another block of time held out; folds with too few rows on a side are left out.

    >>> [len(fold.held_out[0]) for fold in folds([np.arange(90.0)[:, None]], 3)]
    [30, 30, 30]
    """
    parts = _blocks(episodes, count)
    rests = [[rows for other in parts if other is not part for rows in other] for part in parts]
    return [fold for fold in map(Fold, rests, parts) if fold.is_informative]


def _blocks(episodes: Episodes, count: int) -> list[Episodes]:
    """Blocks of time of about the same length.

    Episodes that are short compared with a block stay whole, so that none has its beginning on one side of a fold and
    its end on the other.
    """
    ends = np.cumsum([len(rows) for rows in episodes])
    cuts = [0, *(_cut(ends, int(ends[-1]) * number // count, count) for number in range(1, count)), int(ends[-1])]
    begins = ends - [len(rows) for rows in episodes]
    return [
        [
            rows[max(start - begin, 0) : stop - begin]
            for rows, begin, end in zip(episodes, begins, ends, strict=True)
            if max(begin, start) < min(end, stop)
        ]
        for start, stop in itertools.pairwise(cuts)
    ]


def _cut(ends: np.ndarray, wanted: int, count: int) -> int:
    """The end of an episode that is close to the wanted row, or else that row."""
    nearest = int(ends[np.abs(ends - wanted).argmin()])
    return nearest if abs(nearest - wanted) <= MOST_SHIFT * ends[-1] / count else wanted


class Elsewhere(NamedTuple):
    """Rayleigh quotients, such as E[(Δy)²] / Var[y], of functions on held-out data."""

    values: Float[np.ndarray, " n"]
    scatter: Float[np.ndarray, " n"]
    """Their standard errors."""
    variances: Float[np.ndarray, " n"]
    """The variances there; on the data that they were found on functions have variance one."""

    def scaled(self, size: float) -> "Elsewhere":
        """The quotients of a multiple of the operator."""
        return Elsewhere(size * self.values, size * self.scatter, self.variances)

    @classmethod
    def of(cls, products: Float[np.ndarray, "time n"], squares: Float[np.ndarray, "time n"]) -> "Elsewhere":
        """From y K y and y² at each time; their order carries the autocorrelation, which standard errors need.

        >>> Elsewhere.of(np.ones((32, 1)), np.full((32, 1), 2.0)).values
        array([0.5])
        """
        variances = squares.mean(0).clip(np.finfo(float).tiny)
        values = products.mean(0) / variances
        return cls(values, scatter_of((products - values * squares) / variances), variances)

    def note(self, training: Float[np.ndarray, " n"], noise: float | None = None) -> str:
        """A warning if values here are larger than the `training` values, or no better than that of `noise`, if given;
        empty if neither."""
        differs = self.values - training > np.maximum(CERTAIN * self.scatter, LEAST_GAP * np.abs(self.values))
        too_flat = self.variances < LEAST_VARIANCE
        if not (differs | too_flat).any():
            if noise is None or (self.values <= noise - np.maximum(CERTAIN * self.scatter, LEAST_GAP * noise)).any():
                return ""
            return (
                "nothing in these rows is slow: on held-out rows each function changes as fast as noise, whose "
                f"eigenvalue is {noise:g}"
            )
        which = ", ".join(str(k + 1) for k in np.flatnonzero(differs | too_flat))
        said = "; ".join(
            f"{training[k]:.3g} on the rows it was found on, {self.values[k]:.3g} on held-out rows"
            + f" (with a variance of {self.variances[k]:.2g} in place of 1)" * bool(too_flat[k])
            for k in np.flatnonzero(differs | too_flat)[:MOST_NAMED]
        )
        return (
            f"functions follow the very rows that they were found on: for number {which}, not counting the constant, "
            f"values on held-out rows differ by more than their errors ({said}). More rows or fewer columns would help"
        )


def with_held_out_values(found: Solution, measured: Elsewhere, noise: float | None = None) -> Solution:
    """The functions in order of their values on held-out data, with errors no smaller than the difference between both.

    The values that they were found with are kept as training values. `found` has no constant function, and its values
    are those of an operator whose smallest ones are wanted; `noise` is that of rows that tell nothing, if known.

    >>> found = Solution(np.array([1.0, 2.0]), np.eye(2), *np.zeros((3, 2)))
    >>> moved = with_held_out_values(found, Elsewhere(np.array([3.0, 2.5]), np.ones(2), np.ones(2)))
    >>> moved.values, moved.training_values, moved.basis_errors
    (array([2.5, 3. ]), array([2., 1.]), array([0.5, 2. ]))
    """
    order = np.argsort(measured.values)
    measured, training = Elsewhere(*(part[order] for part in measured)), found.values[order]
    return Solution(
        measured.values,
        found.coefficients[:, order],
        measured.scatter,
        np.fmax(found.basis_errors[order], np.abs(measured.values - training)),
        found.residuals[order],
        note=measured.note(training, noise),
        training_values=training,
    )


def slowness_of(parts: Sequence[tuple[Series, Float[np.ndarray, "_ n"]]]) -> Elsewhere:
    """The slowness of functions, given their values on the rows of each series.

    The variance is taken over all series together: a function slower than a series is long varies between series only.
    """
    pairs = [(y[:-1][series.follows[:-1]], y[1:][series.follows[:-1]]) for series, y in parts]
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    mean = (first.mean(0) + second.mean(0)) / 2
    return Elsewhere.of((second - first) ** 2, ((first - mean) ** 2 + (second - mean) ** 2) / 2)

"""Time that functions are not found on: what tells whether they are more than chance."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.random_waves import Episodes, Series
from eigenax.core.standard_error import scatter_of

NOISE = 2
"""The slowness of rows that tell nothing of the next ones."""
LEAST_ROWS = 20
"""Rows there must be on either side."""
WHOLE = 0.25
"""By what share of a block its end may be moved to the end of an episode."""
CERTAIN, TOLD, VARIES, SAID = 3, 0.05, 0.25, 3
"""How many standard errors, and what share of a value, the value of the rows that functions were found on may differ
by; the least variance they have on others; without a warning, which says it of so many functions."""


class Fold(NamedTuple):
    """Episodes to look for functions in, and others to measure them on."""

    seen: Episodes
    held_out: Episodes

    @property
    def tells(self) -> bool:
        """Whether something changes on either side, in rows enough."""
        sides = [Series.of(side) for side in self if side]
        return len(sides) == len(self) and all(
            len(side.rows) >= LEAST_ROWS and side.follows.any() and bool((side.rows != side.rows[0]).any())
            for side in sides
        )


def folds(episodes: Episodes, count: int) -> list[Fold]:
    """Each of so many blocks of time held out once, where that tells something.

    >>> [len(fold.held_out[0]) for fold in folds([np.arange(90.0)[:, None]], 3)]
    [30, 30, 30]
    """
    parts = _blocks(episodes, count)
    rests = [[rows for other in parts if other is not part for rows in other] for part in parts]
    return [fold for fold in map(Fold, rests, parts) if fold.tells]


def _blocks(episodes: Episodes, count: int) -> list[Episodes]:
    """Blocks of time of about the same length. Episodes that are short beside them stay whole: what ends an episode
    would otherwise be looked for in one half and measured in the other."""
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
    nearest = int(ends[np.abs(ends - wanted).argmin()])
    return nearest if abs(nearest - wanted) <= WHOLE * ends[-1] / count else wanted


class Elsewhere(NamedTuple):
    """Rayleigh quotients, such as E[(Δy)²] / Var[y], of functions on data that they were not found on."""

    values: Float[np.ndarray, " n"]
    scatter: Float[np.ndarray, " n"]
    variances: Float[np.ndarray, " n"]
    """Of functions that have variance one where they were found."""

    @classmethod
    def of(cls, products: Float[np.ndarray, "time n"], squares: Float[np.ndarray, "time n"]) -> "Elsewhere":
        """From y K y and y², in order of time.

        >>> Elsewhere.of(np.ones((32, 1)), np.full((32, 1), 2.0)).values
        array([0.5])
        """
        variances = squares.mean(0).clip(np.finfo(float).tiny)
        values = products.mean(0) / variances
        return cls(values, scatter_of((products - values * squares) / variances), variances)

    def note(self, training: Float[np.ndarray, " n"], noise: float | None = None) -> str:
        """What is to be said of functions that come to so much where they were found, and to more here; and of such
        as are no better than those of noise, if it is known what these come to."""
        apart = self.values - training > np.maximum(CERTAIN * self.scatter, TOLD * np.abs(self.values))
        still = self.variances < VARIES
        if not (apart | still).any():
            if noise is None or (self.values <= noise - np.maximum(CERTAIN * self.scatter, TOLD * noise)).any():
                return ""
            return (
                "nothing in these rows is slow: on other rows than it was found on each function changes as fast as "
                f"noise, whose eigenvalue is {noise:g}"
            )
        which = ", ".join(str(k + 1) for k in np.flatnonzero(apart | still))
        said = "; ".join(
            f"{training[k]:.3g} where it was found, {self.values[k]:.3g} elsewhere"
            + f" (with a variance of {self.variances[k]:.2g} in place of 1)" * bool(still[k])
            for k in np.flatnonzero(apart | still)[:SAID]
        )
        return (
            f"functions follow the very rows that they were found on: number {which}, not counting the constant, are "
            f"others on other rows by more than their errors ({said}). More rows, or fewer columns, tell more"
        )


def slowness_of(parts: Sequence[tuple[Series, Float[np.ndarray, "_ n"]]]) -> Elsewhere:
    """Of functions whose values on the rows of each series are given, all of them together: a function that is slower
    than one of the series is long varies between them."""
    pairs = [(y[:-1][series.follows[:-1]], y[1:][series.follows[:-1]]) for series, y in parts]
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    mean = (first.mean(0) + second.mean(0)) / 2
    return Elsewhere.of((second - first) ** 2, ((first - mean) ** 2 + (second - mean) ** 2) / 2)

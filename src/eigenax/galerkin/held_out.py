"""Time that functions are not found on: what tells whether they are more than chance."""

import itertools
from typing import NamedTuple

import numpy as np

from eigenax.galerkin.random_waves import Episodes, Series

LEAST_ROWS = 20
"""Rows there must be on either side."""
WHOLE = 0.25
"""By what share of a block its end may be moved to the end of an episode."""


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
            if begin < stop and end > start
        ]
        for start, stop in itertools.pairwise(cuts)
    ]


def _cut(ends: np.ndarray, wanted: int, count: int) -> int:
    nearest = int(ends[np.abs(ends - wanted).argmin()])
    return nearest if abs(nearest - wanted) <= WHOLE * ends[-1] / count else wanted

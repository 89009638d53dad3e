"""A ridge for each feature of a time series, chosen by its slowness on held-out rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.random_waves import Moments, RandomWaves, Series, moments_of
from eigenax.core.pencil import Pencil

RIDGES = tuple(10.0**-power for power in range(2, 12, 2))
"""Penalties on large coefficients. Held-out time chooses one for each feature: the largest that does as well as any."""
AS_WELL = 1.01
"""A ridge does as well as the best one if its slowness is at most this many times the lowest."""
ONE_BY_ONE = 12
"""Features that have a ridge chosen for each; those after them share the last one."""


class HeldOutTrial(NamedTuple):
    """Waves, their pencil on the rows that features are found on, and the held-out rows."""

    waves: RandomWaves
    pencil: Pencil
    held_out: Series

    def narrowed(self, n: int, ridges: Sequence[float]) -> "HeldOutMoments":
        """The pencil of the few combinations that matter for these ridges, and their moments on the held-out rows."""
        pencil = self.pencil.narrowed(n, sorted(set(ridges)))
        return HeldOutMoments(pencil, moments_of(lambda rows: self.waves(rows) @ pencil.whitening, self.held_out))


class HeldOutMoments(NamedTuple):
    """Functions found on some rows, and their moments on held-out rows."""

    pencil: Pencil
    moments: Moments

    def slowness(self, combinations: Float[np.ndarray, "r m"]) -> Float[np.ndarray, " m"]:
        """E[(Δy)²] / Var[y] of combinations of these functions on the held-out rows."""
        change, variance = (
            (combinations * (part @ combinations)).sum(0) for part in (self.moments.pi, self.moments.sigma)
        )
        tiny = np.finfo(float).tiny
        return change.clip(tiny) / variance.clip(tiny)

    def values(self, ridges: Sequence[float], n: int) -> Float[np.ndarray, " n"]:
        """The held-out slowness of the n slowest combinations, each with its ridge."""
        return self.slowness(self.pencil.one_by_one(ridges, n))


def chosen_ridges(tried: list[HeldOutMoments], n: int) -> list[float]:
    """A ridge for each of the first features, one after the other: the largest that does about as well as the best."""
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

"""The logistic map whose parameter is driven slowly: the classical test of nonlinear slow feature analysis."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Driven(NamedTuple):
    """A chaotic series, and the slow force that drives its parameter."""

    series: Float[np.ndarray, " time"]
    drive: Float[np.ndarray, " time"]


def driven_logistic_map(rows: int, *, noise: float = 0.0, seed: int = 0) -> Driven:
    """x ← (3.6 + 0.13 γ) x (1 − x), γ a sum of three sines with 5, 11 and 13 periods, between −1 and 1.

    `noise` is the standard deviation of white noise added to the observed series, in units of the series' own.

    >>> driven_logistic_map(1000).series.shape
    (1000,)
    """
    time = 2 * np.pi * np.arange(rows) / rows
    drive = np.sin(5 * time) + np.sin(11 * time) + np.sin(13 * time)
    drive /= np.abs(drive).max()
    x, series = 0.6, np.empty(rows)
    for row, force in enumerate(drive):
        x = (3.6 + 0.13 * force) * x * (1 - x)
        series[row] = x
    return Driven(series + noise * series.std() * np.random.default_rng(seed).normal(size=rows), drive)

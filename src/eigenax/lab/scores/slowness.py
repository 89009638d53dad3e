"""How slow features are on held-out video, and how much of its content they explain."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int


def delta_values(episodes: Sequence[Float[np.ndarray, "_ n"]]) -> Float[np.ndarray, " n"]:
    """E[(y_{t+1} − y_t)²] / Var[y] of each feature, over all episodes: the Δ-values of slow feature analysis.

    NaN for a feature that never changes.

    >>> delta_values([np.array([[0.0], [1.0], [0.0], [1.0]])])
    array([4.])
    """
    values = np.concatenate(episodes).astype(np.float64)
    changes = np.concatenate([np.diff(episode.astype(np.float64), axis=0) for episode in episodes])
    variances = values.var(0)
    return np.where(variances > 0, (changes**2).mean(0) / np.where(variances > 0, variances, 1), np.nan)


def clock_shares(features: Float[np.ndarray, "time n"]) -> Float[np.ndarray, " n"]:
    """R² between the k-th feature and the cosine cos(π k (t + ½) / T) of the time t of T rows.

    These cosines are the slowest functions of time itself, which are found in a series where nothing recurs.

    >>> times = np.arange(100)[:, None]
    >>> clock_shares(np.hstack([times, np.sin(times / 5)])).round(2)
    array([0.99, 0.  ])
    """
    count, n = features.shape
    centred = features.astype(np.float64) - features.mean(0)
    cosines = np.cos(np.pi * np.arange(1, n + 1) * (np.arange(count)[:, None] + 0.5) / count)
    squares = (centred**2).sum(0) * (cosines**2).sum(0)
    return np.where(squares > 0, (centred * cosines).sum(0) ** 2 / np.where(squares > 0, squares, 1), 0.0)


def explained_share(
    targets: Float[np.ndarray, "time m"], features: Float[np.ndarray, "time n"]
) -> Float[np.ndarray, " m"]:
    """The share of the variance of each target that the best linear combination of the features explains.

    >>> rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> explained_share(rows, rows[:, :1]).round(6) + 0.0
    array([1., 0.])
    """
    return 1 - unexplained(targets, features).var(0) / targets.astype(np.float64).var(0)


def unexplained(
    targets: Float[np.ndarray, "time m"], features: Float[np.ndarray, "time n"]
) -> Float[np.ndarray, "time m"]:
    """The residual of the targets, centred, after linear regression on the features."""
    targets, features = (part - part.mean(0) for part in (targets.astype(np.float64), features.astype(np.float64)))
    return targets - features @ np.linalg.lstsq(features, targets, rcond=None)[0]


def extreme_times(feature: Float[np.ndarray, " time"], count: int, apart: int) -> Int[np.ndarray, " _"]:
    """`count` times at which a feature is largest, then as many at which it is smallest, at least `apart` rows apart.

    >>> extreme_times(np.repeat([0.0, 3.0, 2.9, 0.0, 2.0, -1.0], 4), 2, apart=2)
    array([ 4,  6, 20, 22])
    """
    apart, both = min(apart, max(1, len(feature) // (4 * count))), []
    for order in (np.argsort(-feature, kind="stable"), np.argsort(feature, kind="stable")):
        found: list[int] = []
        for time in order.tolist():
            if all(abs(time - other) >= apart for other in found):
                found.append(time)
            if len(found) == count:
                break
        both.append(found)
    fewest = min(map(len, both))
    return np.array([time for found in both for time in found[:fewest]])

"""What features encode of a game: whether they tell its frames apart, and how much of the console's memory."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from eigenax.lab.scores.slowness import delta_values

EXTREME = 100
"""Number of frames at each end of a feature."""
TRIES = 200
"""Number of random splits or shifts that make up chance."""
FOLDS = 5
"""Stretches of time of the cross-validation."""


def all_scores(
    found: Mapping[str, Float[np.ndarray, "time n"]],
    frames: np.ndarray,
    memory: np.ndarray,
    episodes: Int[np.ndarray, " e"],
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """Every score of the features that each method found; `episodes` is where each later episode begins."""
    return {
        "slowness": {name: delta_values(np.split(values, episodes)) for name, values in found.items()},
        "separation": {name: separation(values, frames, seed) for name, values in found.items()},
        "separation_in_time": {name: separation(values, frames, seed, in_time=True) for name, values in found.items()},
        "probe": {name: probe(values, memory) for name, values in found.items()},
    }


def extreme_frames(feature: Float[np.ndarray, " time"], count: int = EXTREME) -> Int[np.ndarray, "2 count"]:
    """The times at which a feature is largest, and those at which it is smallest.

    >>> extreme_frames(np.array([0.0, 3.0, 1.0, -2.0]), 1)
    array([[1],
           [3]])
    """
    order = np.argsort(feature, kind="stable")
    return np.stack([order[::-1][:count], order[:count]])


def mean_frames(frames: np.ndarray, times: Int[np.ndarray, "2 count"]) -> Float[np.ndarray, "2 h w"]:
    """The mean of the frames at each of the two sets of times."""
    return np.stack([frames[np.sort(part)].mean(0, dtype=np.float64) for part in times])


def separation(
    features: Float[np.ndarray, "time n"],
    frames: np.ndarray,
    seed: int = 0,
    count: int = EXTREME,
    in_time: bool = False,
) -> Float[np.ndarray, " n"]:
    """Distance between the mean frames at a feature's two extremes, compared with chance, in its standard deviations.

    Chance is the distance for random splits of the same frames. A value near 0 means that the feature encodes nothing
    visible. A large value may still be noise, if that is slow: the extremes of a slow feature lie in a few stretches of
    the game, each of which looks alike. With `in_time`, chance is the distance for the same times, all shifted
    cyclically by a random time, which are as close together as those of the feature. Slow noise is then near 0, and so
    is a feature that only tells one game from another.
    """
    rng, found = np.random.default_rng(seed), []
    for feature in features.T:
        times = extreme_frames(feature, count)
        if in_time:
            tried = [times, *((times + shift) % len(frames) for shift in rng.integers(1, len(frames), TRIES))]
        else:
            tried = [times, *(rng.permutation(times.ravel()).reshape(times.shape) for _ in range(TRIES))]
        distances = np.array([np.linalg.norm(np.subtract(*mean_frames(frames, both))) for both in tried])
        found.append((distances[0] - distances[1:].mean()) / max(distances[1:].std(), 1e-12))
    return np.array(found)


def probe(features: Float[np.ndarray, "time n"], memory: np.ndarray, folds: int = FOLDS) -> float:
    """The share of variance of the memory's bytes that linear regression on the features explains, cross-validated.

    It is the mean over all bytes that vary. Each stretch of time is predicted by a fit to the others.

    >>> t = np.arange(1000.0)
    >>> feature = np.sin(t / 7)[:, None]
    >>> round(probe(feature, np.concatenate([3 * feature + 1, 0 * feature], 1)), 3)
    1.0
    """
    values = np.asarray(memory[:, (memory != memory[0]).any(0)], np.float64)
    inputs = np.concatenate([features.astype(np.float64), np.ones((len(features), 1))], 1)
    errors = np.zeros(values.shape[1])
    for held_out in np.array_split(np.arange(len(values)), folds):
        rest = np.setdiff1d(np.arange(len(values)), held_out, assume_unique=True)
        fitted = np.linalg.lstsq(inputs[rest], values[rest], rcond=None)[0]
        errors += ((values[held_out] - inputs[held_out] @ fitted) ** 2).sum(0)
    return float(np.mean(1 - errors / ((values - values.mean(0)) ** 2).sum(0)))

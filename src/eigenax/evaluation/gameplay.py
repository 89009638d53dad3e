"""What features tell of a game: whether they tell its frames apart, and how much of the console's memory is in them."""

import numpy as np
from jaxtyping import Float, Int

EXTREME, SPLITS, FOLDS = 100, 200, 5


def extreme_frames(feature: Float[np.ndarray, " time"], count: int = EXTREME) -> Int[np.ndarray, "2 count"]:
    """When a feature is largest, and when it is smallest.

    >>> extreme_frames(np.array([0.0, 3.0, 1.0, -2.0]), 1)
    array([[1],
           [3]])
    """
    order = np.argsort(feature, kind="stable")
    return np.stack([order[::-1][:count], order[:count]])


def mean_frames(frames: np.ndarray, times: Int[np.ndarray, "2 count"]) -> Float[np.ndarray, "2 h w"]:
    """The means of frames at the one and at the other times."""
    return np.stack([frames[np.sort(part)].mean(0, dtype=np.float64) for part in times])


def separation(
    features: Float[np.ndarray, "time n"], frames: np.ndarray, seed: int = 0, count: int = EXTREME
) -> Float[np.ndarray, " n"]:
    """How far the mean frames at a feature's two ends are apart, against random splits of the same frames into two.

    In standard errors, the scatter between the splits, from their mean. Near 0: the feature encodes nothing that shows.
    The ends of a slow feature are a few stretches of the game, which look alike in more than what it encodes.
    """
    rng, found = np.random.default_rng(seed), []
    for feature in features.T:
        shown = frames[extreme_frames(feature, count).ravel()].reshape(2 * count, -1).astype(np.float64)
        top = np.arange(2 * count) < count
        splits = np.stack([top, *(rng.permutation(top) for _ in range(SPLITS))])
        distances = np.linalg.norm((2 * splits - 1) @ shown / count, axis=1)
        found.append((distances[0] - distances[1:].mean()) / max(distances[1:].std(), 1e-12))
    return np.array(found)


def probe(features: Float[np.ndarray, "time n"], memory: np.ndarray, folds: int = FOLDS) -> float:
    """The share of the variance of the memory's bytes that linear functions of the features explain.

    The mean over all bytes that vary; each stretch of time is predicted by what was fitted to the others.

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

"""What features encode of bouncing balls: places of single balls, joint places of pairs, and velocities."""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.lab.scores.slowness import explained_share, unexplained

WAVES = 6
"""Highest order a + b of the harmonics cos(aπx) cos(bπy) of a ball's place."""


class Named(NamedTuple):
    """Functions of the state of all balls over time, with their names."""

    names: list[str]
    values: Float[np.ndarray, "time m"]


def harmonics(
    positions: Float[np.ndarray, "time balls 2"],
    reach: tuple[float, float],
    most: int,
    weights: Float[np.ndarray, "time balls"] | None = None,
) -> Named:
    """Σ over balls of cos(aπx) cos(bπy) for 0 < a + b ≤ `most`, with x and y from 0 to 1 where a ball's centre can be.

    These are the slowest functions of single places, without interaction. `weights` are the balls' factors in the sum.
    """
    waves = [(a, b) for a, b in itertools.product(range(most + 1), repeat=2) if 0 < a + b <= most]
    counts = np.ones(positions.shape[:2]) if weights is None else weights
    return Named([_name(*wave) for wave in waves], np.einsum("tbm,tb->tm", _waves(positions, reach, waves), counts))


def pairs(positions: Float[np.ndarray, "time balls 2"], reach: tuple[float, float], most: int) -> Named:
    """Σ over pairs of balls of a harmonic of one ball's place times one of the other's: functions of both together."""
    waves = [(a, b) for a, b in itertools.product(range(most + 1), repeat=2) if 0 < a + b <= most]
    each, names, values = _waves(positions, reach, waves), [], []
    for (i, first), (j, second) in itertools.combinations_with_replacement(enumerate(waves), 2):
        both = each[:, :, None, i] * each[:, None, :, j]
        away = both.sum((1, 2)) - np.einsum("tbb->t", both)
        names.append(f"{_name(*first)} × {_name(*second)}")
        values.append(away)
    return Named(names, np.stack(values, 1))


def _waves(
    positions: Float[np.ndarray, "time balls 2"], reach: tuple[float, float], waves: list[tuple[int, int]]
) -> Float[np.ndarray, "time balls m"]:
    place = np.pi * (positions - reach[0]) / (reach[1] - reach[0])
    return np.stack([np.cos(a * place[..., 0]) * np.cos(b * place[..., 1]) for a, b in waves], -1)


def _name(a: int, b: int) -> str:
    parts = [f"cos {'' if k == 1 else k}π{axis}" for k, axis in ((a, "x"), (b, "y")) if k]
    return " ".join(parts)


class Meaning(NamedTuple):
    """What features encode, as shares of variance between 0 and 1."""

    harmonics: dict[str, float]
    """For each sum of harmonics over the balls, the share that all features together explain."""
    velocities: dict[str, float]
    """The same for the balls' mean velocity, its square, and Σ vx² − vy², the axis that they move along."""
    slow_balls: dict[str, float]
    """The same for sums of harmonics in which slower balls have larger weights."""
    marginal: Float[np.ndarray, " n"]
    """For each feature, the share that functions of single places, summed over the balls, explain."""
    best_harmonic: list[tuple[str, float]]
    """For each feature, the harmonic that explains most of it, and the share."""
    joint: int
    """Index of the feature of which single places explain least."""
    best_pair: tuple[str, float]
    """The product of harmonics of two balls that explains most of the rest of that feature, and the share."""


def meaning(
    features: Float[np.ndarray, "time n"],
    positions: Float[np.ndarray, "time balls 2"],
    velocities: Float[np.ndarray, "time balls 2"],
    reach: tuple[float, float],
) -> Meaning:
    """Measure what features encode, on frames that they were not trained on."""
    slowest, many = harmonics(positions, reach, 2), harmonics(positions, reach, WAVES)
    told = explained_share(slowest.values, features)
    speeds = np.linalg.norm(velocities, axis=-1)
    slow_first = harmonics(positions, reach, 2, 1 / (speeds + speeds.mean() / 2))
    drift, squares = velocities.mean(1), (velocities**2).sum(1)
    along = squares[:, :1] - squares[:, 1:]
    motion = Named(
        ["x", "y", "speed squared", "along x or y"],
        np.concatenate([drift, (drift**2).sum(1, keepdims=True), along], 1),
    )
    marginal = explained_share(features, many.values)
    joint = int(np.argmin(marginal))
    together = pairs(positions, reach, 2)
    rest = unexplained(features[:, [joint]], many.values)
    shares = _squared_correlations(rest, together.values)[0]
    best = int(np.argmax(shares))
    singles = _squared_correlations(features, many.values)
    return Meaning(
        dict(zip(slowest.names, told.tolist(), strict=True)),
        dict(zip(motion.names, explained_share(motion.values, features).tolist(), strict=True)),
        dict(zip(slow_first.names, explained_share(slow_first.values, features).tolist(), strict=True)),
        marginal,
        [(many.names[k], float(row[k])) for row, k in zip(singles, singles.argmax(1), strict=True)],
        joint,
        (together.names[best], float(shares[best])),
    )


def _squared_correlations(
    values: Float[np.ndarray, "time n"], others: Float[np.ndarray, "time m"]
) -> Float[np.ndarray, "n m"]:
    values, others = ((part - part.mean(0)) / np.where(part.std(0) > 0, part.std(0), 1) for part in (values, others))
    return (values.T @ others / len(values)) ** 2


def heat_maps(
    features: Float[np.ndarray, "time n"],
    positions: Float[np.ndarray, "time balls 2"],
    reach: tuple[float, float],
    bins: int = 20,
) -> Float[np.ndarray, "n bins bins"]:
    """The mean of each centred feature while some ball is in each bin of places; rows go down, columns right."""
    edges = np.linspace(*reach, bins + 1)
    x, y = positions[..., 0].ravel(), positions[..., 1].ravel()
    counts = np.histogram2d(y, x, (edges, edges))[0]
    balls = positions.shape[1]
    sums = [np.histogram2d(y, x, (edges, edges), weights=np.repeat(f - f.mean(), balls))[0] for f in features.T]
    return np.stack(sums) / np.maximum(counts, 1)

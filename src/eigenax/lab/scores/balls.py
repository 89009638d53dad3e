"""What features tell of bouncing balls: of their places one by one, of their places together, of their velocities."""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.lab.scores.slowness import explained_share, unexplained

WAVES = 6
"""Harmonics of a place go up to this one along each axis."""


class Named(NamedTuple):
    """Functions of the state of all balls over time, and what they are called."""

    names: list[str]
    values: Float[np.ndarray, "time m"]


def harmonics(
    positions: Float[np.ndarray, "time balls 2"],
    reach: tuple[float, float],
    most: int,
    weights: Float[np.ndarray, "time balls"] | None = None,
) -> Named:
    """Σ over balls of cos(aπx) cos(bπy), x and y from 0 to 1 over what the middle of a ball can reach.

    These are the slowest functions of places alone, without interaction. a + b is at most `most`. `weights` is how much
    each ball counts.
    """
    waves = [(a, b) for a, b in itertools.product(range(most + 1), repeat=2) if 0 < a + b <= most]
    counts = np.ones(positions.shape[:2]) if weights is None else weights
    return Named([_called(*wave) for wave in waves], np.einsum("tbm,tb->tm", _waves(positions, reach, waves), counts))


def pairs(positions: Float[np.ndarray, "time balls 2"], reach: tuple[float, float], most: int) -> Named:
    """Σ over pairs of balls of products of two harmonics of their places: what balls do together."""
    waves = [(a, b) for a, b in itertools.product(range(most + 1), repeat=2) if 0 < a + b <= most]
    each, names, values = _waves(positions, reach, waves), [], []
    for (i, first), (j, second) in itertools.combinations_with_replacement(enumerate(waves), 2):
        both = each[:, :, None, i] * each[:, None, :, j]
        away = both.sum((1, 2)) - np.einsum("tbb->t", both)
        names.append(f"{_called(*first)} × {_called(*second)}")
        values.append(away)
    return Named(names, np.stack(values, 1))


def _waves(
    positions: Float[np.ndarray, "time balls 2"], reach: tuple[float, float], waves: list[tuple[int, int]]
) -> Float[np.ndarray, "time balls m"]:
    place = np.pi * (positions - reach[0]) / (reach[1] - reach[0])
    return np.stack([np.cos(a * place[..., 0]) * np.cos(b * place[..., 1]) for a, b in waves], -1)


def _called(a: int, b: int) -> str:
    parts = [f"cos {'' if k == 1 else k}π{axis}" for k, axis in ((a, "x"), (b, "y")) if k]
    return " ".join(parts)


class Meaning(NamedTuple):
    """What features tell, as shares of variance between 0 and 1."""

    harmonics: dict[str, float]
    """Of sums of harmonics over the balls, what all features together explain."""
    velocities: dict[str, float]
    """Of the balls' mean velocity, of its square, and of Σ vx² − vy² (which axis they move along), the same."""
    slow_balls: dict[str, float]
    """The same of sums of harmonics in which a ball counts the more, the slower it is."""
    marginal: Float[np.ndarray, " n"]
    """Of each feature, what functions of one place, summed over the balls, explain."""
    best_harmonic: list[tuple[str, float]]
    """For each feature the single harmonic that explains most of it."""
    joint: int
    """The feature that is explained least so."""
    best_pair: tuple[str, float]
    """And the product of two harmonics of two balls that explains most of what is left of it."""


def meaning(
    features: Float[np.ndarray, "time n"],
    positions: Float[np.ndarray, "time balls 2"],
    velocities: Float[np.ndarray, "time balls 2"],
    reach: tuple[float, float],
) -> Meaning:
    """Look for what features encode, on frames that they were not trained on."""
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
    """The mean of each feature, from its own mean, while some ball is in each place; rows go down, columns right."""
    edges = np.linspace(*reach, bins + 1)
    x, y = positions[..., 0].ravel(), positions[..., 1].ravel()
    counts = np.histogram2d(y, x, (edges, edges))[0]
    balls = positions.shape[1]
    sums = [np.histogram2d(y, x, (edges, edges), weights=np.repeat(f - f.mean(), balls))[0] for f in features.T]
    return np.stack(sums) / np.maximum(counts, 1)

"""Points that lie in several places far apart, divided into clusters."""

import numpy as np
from jaxtyping import Float
from scipy.cluster.vq import kmeans2

MAX_WITHIN = 0.15
"""Two halves are separate clusters if no more than this share of the variance along some axis is left within them.
Halving a uniform distribution leaves a quarter, halving a Gaussian about a third."""
MIN_POINTS = 16
"""Fewer points than this are no cluster."""
MAX_SPLITS = 3
"""How many times in a row clusters are split."""


def clusters_of(points: Float[np.ndarray, "b d"], splits: int = MAX_SPLITS) -> list[Float[np.ndarray, "_ d"]]:
    """The points, split by 2-means into two clusters, and these again, wherever the two are far apart for their width.

    >>> left, right = clusters_of(np.concatenate([np.linspace(0, 1, 50), np.linspace(9, 10, 50)])[:, None])
    >>> sorted([left.max().item(), right.max().item()])
    [1.0, 10.0]
    """
    if not splits or len(points) < 2 * MIN_POINTS:
        return [points] if len(points) else []
    spread = points.std(0)
    if not (spread > 0).all():
        return [points]
    labels = kmeans2(points / spread, 2, rng=0, minit="++")[1]
    parts = [points[labels == label] for label in (0, 1)]
    if min(map(len, parts)) < MIN_POINTS:
        return [points]
    within = sum(len(part) * part.var(0) for part in parts) / len(points)
    if (within > MAX_WITHIN * spread**2).all():
        return [points]
    return [cluster for part in parts for cluster in clusters_of(part, splits - 1)]

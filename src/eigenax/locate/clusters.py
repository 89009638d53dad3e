"""Points that lie in several places far apart, place by place."""

import numpy as np
from jaxtyping import Float
from scipy.cluster.vq import kmeans2

APART = 0.15
"""The share of the variance along an axis that is left within two places, if they are two: a quarter would be left of
points spread evenly, and a third of a Gaussian's."""
FEWEST, HALVINGS = 16, 3
"""Points that are a place, and how often places are looked for within a place."""


def clusters_of(points: Float[np.ndarray, "b d"], halvings: int = HALVINGS) -> list[Float[np.ndarray, "_ d"]]:
    """The points, in two parts and these again, wherever two parts are far apart for their size.

    >>> left, right = clusters_of(np.concatenate([np.linspace(0, 1, 50), np.linspace(9, 10, 50)])[:, None])
    >>> sorted([left.max().item(), right.max().item()])
    [1.0, 10.0]
    """
    if not halvings or len(points) < 2 * FEWEST:
        return [points] if len(points) else []
    spread = points.std(0)
    if not (spread > 0).all():
        return [points]
    labels = kmeans2(points / spread, 2, rng=0, minit="++")[1]
    parts = [points[labels == label] for label in (0, 1)]
    if min(map(len, parts)) < FEWEST:
        return [points]
    within = sum(len(part) * part.var(0) for part in parts) / len(points)
    if (within > APART * spread**2).all():
        return [points]
    return [cluster for part in parts for cluster in clusters_of(part, halvings - 1)]

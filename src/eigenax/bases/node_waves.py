"""Random waves of the features of nodes."""

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from eigenax.bases.random_waves import RandomWaves

SAMPLED = 1000
"""Rows whose distance to the nearest other row is looked up."""


def graph_waves(
    rows: Float[np.ndarray, "nodes d"], changes: Float[np.ndarray, "e d"], count: int, seed: int, all_apart: bool = True
) -> RandomWaves:
    """Waves from the slowest, which hardly change over all nodes, to those that change sign from one node to the next.

    The next node is a neighbour along an edge or, with `all_apart` and if that is closer, the nearest other node. Half
    of the waves have log-uniform frequencies, which suit smooth functions; the wave vectors of the other half are
    uniform up to the fastest, which suits functions with steep walls.
    """
    rng, columns = np.random.default_rng(seed), rows.shape[1]
    centre, scale = rows.mean(0), np.array([_typical_change(c, r) for c, r in zip(changes.T, rows.T, strict=True)])
    moved = np.linalg.norm(changes / scale, axis=1)
    closest = float(np.median(moved[moved > 0])) if (moved > 0).any() else 1.0
    if all_apart:
        closest = min(closest, _nearest_distance(rows / scale, rng))
    fastest = np.pi / max(closest, 1e-12)
    extent = max((rows / scale).std(0).max(), 1.0)
    directions = rng.normal(size=(columns, count))
    directions /= np.linalg.norm(directions, axis=0)
    speeds = np.exp(rng.uniform(np.log(fastest / np.pi / (2 * extent)), np.log(np.sqrt(2) * fastest), count))
    anywhere = rng.uniform(-fastest, fastest, (columns, count)) * min(1.0, np.sqrt(2 / columns))
    weights = np.where(np.arange(count) % 2 == 0, speeds * directions, anywhere)
    phases = rng.uniform(-np.pi, np.pi, count)
    return RandomWaves.kept(centre, scale, weights, phases)


def _nearest_distance(rows: Float[np.ndarray, "nodes d"], rng: np.random.Generator) -> float:
    """The median distance from a row to the nearest different row."""
    distinct = np.unique(rows, axis=0)
    if len(distinct) < 2:
        return np.inf
    some = distinct[rng.permutation(len(distinct))[:SAMPLED]]
    return float(np.median(KDTree(distinct).query(some, k=2)[0][:, 1]))


def _typical_change(changes: Float[np.ndarray, " e"], column: Float[np.ndarray, " nodes"]) -> float:
    """The median change of a column along edges that change it; its standard deviation if none does."""
    moved = np.abs(changes[changes != 0])
    return float(np.median(moved)) if len(moved) else float(column.std()) or 1.0

"""Random waves of the features of nodes."""

import numpy as np
from jaxtyping import Float
from scipy.spatial import KDTree

from eigenax.bases.random_waves import RandomWaves

APART = 1000
"""Rows whose nearest others tell how fast waves must be."""


def graph_waves(
    rows: Float[np.ndarray, "nodes d"], changes: Float[np.ndarray, "e d"], count: int, seed: int, all_apart: bool = True
) -> RandomWaves:
    """Waves from those that hardly change over all nodes to those that change sign from one to the next.

    The next is that along an edge or, to tell `all_apart`, the nearest node, if that is closer. Half of the waves have
    any length in between, as smooth functions want it; half have any wave vector, as walls do.
    """
    rng, columns = np.random.default_rng(seed), rows.shape[1]
    centre, scale = rows.mean(0), np.array([_typical(c, r) for c, r in zip(changes.T, rows.T, strict=True)])
    moved = np.linalg.norm(changes / scale, axis=1)
    closest = float(np.median(moved[moved > 0])) if (moved > 0).any() else 1.0
    if all_apart:
        closest = min(closest, _apart(rows / scale, rng))
    fastest = np.pi / max(closest, 1e-12)
    extent = max((rows / scale).std(0).max(), 1.0)
    directions = rng.normal(size=(columns, count))
    directions /= np.linalg.norm(directions, axis=0)
    speeds = np.exp(rng.uniform(np.log(fastest / np.pi / (2 * extent)), np.log(np.sqrt(2) * fastest), count))
    anywhere = rng.uniform(-fastest, fastest, (columns, count)) * min(1.0, np.sqrt(2 / columns))
    weights = np.where(np.arange(count) % 2 == 0, speeds * directions, anywhere)
    phases = rng.uniform(-np.pi, np.pi, count)
    return RandomWaves.kept(centre, scale, weights, phases)


def _apart(rows: Float[np.ndarray, "nodes d"], rng: np.random.Generator) -> float:
    """How far rows are from the nearest one that differs."""
    distinct = np.unique(rows, axis=0)
    if len(distinct) < 2:
        return np.inf
    some = distinct[rng.permutation(len(distinct))[:APART]]
    return float(np.median(KDTree(distinct).query(some, k=2)[0][:, 1]))


def _typical(changes: Float[np.ndarray, " e"], column: Float[np.ndarray, " nodes"]) -> float:
    """How much a column changes where it does; its scatter where no edge changes it."""
    moved = np.abs(changes[changes != 0])
    return float(np.median(moved)) if len(moved) else float(column.std()) or 1.0

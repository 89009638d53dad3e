"""A ridge regression of values at nodes on their features, for rows that are no nodes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.node_waves import graph_waves
from eigenax.bases.random_waves import RandomWaves
from eigenax.sources.graph_data import WholeGraph

WAVES = 1024
"""Waves of a fit."""
NODES = 2**14
"""The most nodes that a fit uses."""
RIDGES = tuple(10.0**-power for power in range(1, 13))
"""Ridges that are tried, in units of the largest eigenvalue of the waves' Gram matrix; held-out nodes choose."""
HELD_OUT = 1 / 5
"""The share of the nodes that is held out."""
LEAST_HELD_OUT = 4
"""With fewer held-out nodes than this the smallest ridge is taken."""


class Fit(NamedTuple):
    """Combinations of waves and a constant."""

    waves: RandomWaves
    coefficients: Float[np.ndarray, "m n"]
    missed: float
    """The largest share of a function's variance that the fit misses at held-out nodes."""


def fitted(graph: WholeGraph, functions: Float[np.ndarray, "nodes n"], seed: int) -> Fit:
    """Choose the ridge that fits held-out nodes best, then fit all nodes with it."""
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(np.flatnonzero(graph.counts > 0))[:NODES]
    waves = graph_waves(graph.rows, graph.changes(seed), min(WAVES, 2 * len(nodes)), seed, all_apart=False)
    roots, cut = np.sqrt(graph.counts[nodes])[:, None], int(HELD_OUT * len(nodes))
    # The penalty grows with the fourth power of a wave's frequency, as it does for splines, which penalise curvature:
    # slow waves interpolate better between the nodes.
    speeds = np.append(np.linalg.norm(waves.weights, axis=0), 0.0)
    ease = 1 / np.maximum(speeds / speeds[:-1].min(), 1) ** 2
    u, v = roots * waves.with_constant(graph.rows[nodes]) * ease, roots * functions[nodes]
    if cut < LEAST_HELD_OUT:
        return Fit(waves, ease[:, None] * _ridge_regression(u, v, RIDGES[-1:])[0], 0.0)
    variance = np.maximum((v[:cut] ** 2).sum(0), np.finfo(float).tiny)
    tried = _ridge_regression(u[cut:], v[cut:], RIDGES)
    missed = [((v[:cut] - u[:cut] @ coefficients) ** 2).sum(0) / variance for coefficients in tried]
    best = int(np.argmin([np.sum(each) for each in missed]))
    return Fit(waves, ease[:, None] * _ridge_regression(u, v, RIDGES[best : best + 1])[0], float(missed[best].max()))


def _ridge_regression(
    u: Float[np.ndarray, "p m"], v: Float[np.ndarray, "p n"], ridges: tuple[float, ...]
) -> list[Float[np.ndarray, "m n"]]:
    """For each ridge the coefficients c that minimise |u c − v|² + ridge ‖uᵀu‖ |c|²."""
    values, axes = np.linalg.eigh(u.T @ u)
    projected, size = axes.T @ (u.T @ v), values[-1]
    return [axes @ (projected / (values.clip(0) + ridge * size)[:, None]) for ridge in ridges]

"""What is known at nodes as functions of their features, for rows that are no nodes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.node_waves import graph_waves
from eigenax.bases.random_waves import RandomWaves
from eigenax.sources.graph_data import WholeGraph

WAVES, NODES = 1024, 2**14
"""Waves of a fit, and nodes that it is made of at most."""
RIDGES = tuple(10.0**-power for power in range(1, 13))
"""What large coefficients cost, over the variance of all waves; nodes left out choose."""
LEFT_OUT, LEAST = 1 / 5, 4


class Fit(NamedTuple):
    """Combinations of waves and a constant, and what they miss at nodes left out: the largest share of a variance."""

    waves: RandomWaves
    coefficients: Float[np.ndarray, "m n"]
    missed: float


def fitted(graph: WholeGraph, functions: Float[np.ndarray, "nodes n"], seed: int) -> Fit:
    """The ridge that misses least at a fifth of the nodes when fitted at the rest, and then a fit at all of them."""
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(np.flatnonzero(graph.counts > 0))[:NODES]
    waves = graph_waves(graph.rows, graph.changes(seed), min(WAVES, 2 * len(nodes)), seed, all_apart=False)
    roots, cut = np.sqrt(graph.counts[nodes])[:, None], int(LEFT_OUT * len(nodes))
    # Fast waves cost more, by the fourth power of their speed, as bent splines do: slow ones hold between the nodes.
    speeds = np.append(np.linalg.norm(waves.weights, axis=0), 0.0)
    ease = 1 / np.maximum(speeds / speeds[:-1].min(), 1) ** 2
    u, v = roots * waves.with_constant(graph.rows[nodes]) * ease, roots * functions[nodes]
    if cut < LEAST:
        return Fit(waves, ease[:, None] * _solved(u, v, RIDGES[-1:])[0], 0.0)
    variance = np.maximum((v[:cut] ** 2).sum(0), np.finfo(float).tiny)
    tried = _solved(u[cut:], v[cut:], RIDGES)
    missed = [((v[:cut] - u[:cut] @ coefficients) ** 2).sum(0) / variance for coefficients in tried]
    best = int(np.argmin([np.sum(each) for each in missed]))
    return Fit(waves, ease[:, None] * _solved(u, v, RIDGES[best : best + 1])[0], float(missed[best].max()))


def _solved(
    u: Float[np.ndarray, "p m"], v: Float[np.ndarray, "p n"], ridges: tuple[float, ...]
) -> list[Float[np.ndarray, "m n"]]:
    """Coefficients c of the least |u c − v|² and ridge |c|²."""
    values, axes = np.linalg.eigh(u.T @ u)
    projected, size = axes.T @ (u.T @ v), values[-1]
    return [axes @ (projected / (values.clip(0) + ridge * size)[:, None]) for ridge in ridges]

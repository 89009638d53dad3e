"""Slow functions of series: under which measure, and how well they and their values are known."""

import numpy as np
import pytest
import scipy.linalg

import eigenax as ex
from eigenax.estimators import LaplacianRepresentation, SlowFeatureAnalysis

STATES, N = 8, 3


def short_episodes(count=400, seed=0):
    """Walks on a chain that begin at one end and are over at the other, or after some steps: no stationary process."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        steps = rng.choice([-1, 1], int(rng.integers(2, 12)))
        walk = np.clip(np.concatenate([[0], steps]).cumsum(), 0, STATES - 1)
        end = np.flatnonzero(walk == STATES - 1)
        found.append(walk[: end[0] + 1] if len(end) else walk)
    return found


EPISODES = short_episodes()
BEFORE, AFTER = (np.concatenate([walk[part] for walk in EPISODES]) for part in (slice(None, -1), slice(1, None)))


def counted():
    """Weights of the graph that was walked on."""
    pairs = np.zeros((STATES, STATES))
    np.add.at(pairs, (BEFORE, AFTER), 1)
    return (pairs + pairs.T) / pairs.sum() / 2


def of_solve(operator):
    found = ex.solve(operator, ex.Clips([np.eye(STATES)[walk] for walk in EPISODES]), N + 1, progress=False)
    return np.asarray(found(np.eye(STATES)))[:, 1:]


WAYS = {
    "solve for slowness": lambda: of_solve(ex.Slowness()),
    "solve for the Laplacian": lambda: of_solve(ex.GraphLaplacian()),
    "slow features": lambda: (
        SlowFeatureAnalysis(N, random_state=0).fit([np.eye(STATES)[w] for w in EPISODES]).transform(np.eye(STATES))
    ),
    "episodes of states": lambda: LaplacianRepresentation(N, random_state=0).fit(EPISODES).transform(range(STATES)),
    "steps between states": lambda: (
        LaplacianRepresentation(N, random_state=0).fit((BEFORE, AFTER)).transform(range(STATES))
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_rows_of_short_episodes_count_by_the_pairs_they_are_in(way):
    graph = counted()
    degrees = graph.sum(1)
    exact = scipy.linalg.eigh(np.diag(degrees) - graph, np.diag(degrees), eigvals_only=True)[1 : N + 1]
    v = WAYS[way]()
    np.testing.assert_allclose(v.T @ (degrees[:, None] * v), np.eye(N), atol=1e-3)
    np.testing.assert_allclose(degrees @ v, 0, atol=1e-3)
    found = np.diag(v.T @ (np.diag(degrees) - graph) @ v)
    np.testing.assert_allclose(found, exact, rtol=1e-2)

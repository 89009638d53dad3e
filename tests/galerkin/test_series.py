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


def prinz(length, runs, cells=281, lag=5e-3, seed=0):
    """Runs of a diffusion between four narrow wells (Prinz et al. 2011), on cells, and its exact time scales."""
    x = np.linspace(-1.4, 1.4, cells)
    v = 4 * (x**8 + 0.8 * np.exp(-80 * x**2) + 0.2 * np.exp(-80 * (x - 0.5) ** 2) + 0.5 * np.exp(-40 * (x + 0.5) ** 2))
    root = np.exp(-v / 2)
    rates = np.diag(np.exp(-(v[1:] + v[:-1]) / 2) / (x[1] - x[0]) ** 2, 1)
    rates = rates + rates.T
    values, vectors = np.linalg.eigh((np.diag(rates.sum(1)) - rates) / np.outer(root, root))
    steps = (vectors * np.exp(-lag * values)) @ vectors.T / root[:, None] * root
    steps = np.cumsum(steps / steps.sum(1, keepdims=True), 1)
    rng = np.random.default_rng(seed)
    place, walked = rng.choice(cells, runs, p=root**2 / (root**2).sum()), np.empty((length, runs))
    for step in range(length):
        place = np.minimum((steps[place] < rng.random(runs)[:, None]).sum(1), cells - 1)
        walked[step] = x[place]
    walked += (x[1] - x[0]) * rng.uniform(-0.5, 0.5, walked.shape)
    return list(walked.T[..., None]), values[1:4] * lag


def in_bins(episodes, bins):
    """Slowness of the best functions that are constant in each of so many bins: what has no smoothness to choose."""
    rows = np.concatenate(episodes)
    edges = np.linspace(rows.min(), rows.max(), bins + 1)[1:-1]
    pairs = np.zeros((bins, bins))
    for one in episodes:
        cells = np.digitize(one[:, 0], edges)
        np.add.at(pairs, (cells[:-1], cells[1:]), 1)
    pairs = pairs + pairs.T
    here = pairs.sum(1) > 0
    degrees = pairs[here].sum(1)
    laplacian = np.diag(degrees) - pairs[np.ix_(here, here)]
    return 2 * scipy.linalg.eigh(laplacian, np.diag(degrees), eigvals_only=True)[1:]


def test_functions_that_are_sharp_are_found():
    episodes, _ = prinz(2000, 5)
    slow = SlowFeatureAnalysis(3, random_state=0).fit(episodes)
    np.testing.assert_allclose(slow.delta_values_, in_bins(episodes, 80)[:3], rtol=0.06)


def test_what_is_slow_across_the_long_axis_of_many_columns_is_found():
    rng = np.random.default_rng(0)
    state = np.cumsum(rng.random(2000) < 0.03) % 2
    rows = np.zeros((2000, 10))
    rows[:, :2] = rng.normal(size=(2000, 2)) @ np.linalg.cholesky([[5.7, 5.65], [5.65, 5.7]]).T
    rows[:, 1] += 5 * state
    rows = rows @ np.linalg.qr(rng.normal(size=(10, 10)))[0] + 0.3 * rng.normal(size=(2000, 10))
    slow = SlowFeatureAnalysis(1, random_state=0).fit(rows)
    of_states = (np.diff(state) ** 2).mean() / state.var()
    np.testing.assert_allclose(slow.delta_values_[0], of_states, rtol=0.08)

"""Slow functions of series: under which measure, and how well they and their values are known."""

import numpy as np
import pytest
import scipy.linalg

import eigenax as ex
from eigenax.bases.cross_validation import NOISE, Elsewhere, slowness_of
from eigenax.bases.random_waves import Series
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
    found = ex.solve(operator, ex.TimeSeries([np.eye(STATES)[walk] for walk in EPISODES]), N + 1, progress=False)
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
    episodes, _ = prinz(1400, 5)
    slow = SlowFeatureAnalysis(3, random_state=0).fit(episodes)
    np.testing.assert_allclose(slow.delta_values_, in_bins(episodes, 80)[:3], rtol=0.06)


def test_what_is_slow_across_the_long_axis_of_many_columns_is_found():
    rng = np.random.default_rng(0)
    state = np.cumsum(rng.random(1200) < 0.03) % 2
    rows = np.zeros((1200, 10))
    rows[:, :2] = rng.normal(size=(1200, 2)) @ np.linalg.cholesky([[5.7, 5.65], [5.65, 5.7]]).T
    rows[:, 1] += 5 * state
    rows = rows @ np.linalg.qr(rng.normal(size=(10, 10)))[0] + 0.3 * rng.normal(size=(1200, 10))
    slow = SlowFeatureAnalysis(1, random_state=0).fit(rows)
    of_states = (np.diff(state) ** 2).mean() / state.var()
    assert abs(slow.modes_.training_eigenvalues[0] - of_states) < 0.1 * of_states
    assert abs(slow.delta_values_[0] - of_states) < 3 * slow.modes_.standard_errors[0]


@pytest.mark.parametrize(("rows", "columns"), [(300, 40), (600, 5)])
def test_nothing_is_slow_in_white_noise_and_what_seemed_so_is_told(rows, columns):
    slow = SlowFeatureAnalysis(2, random_state=0)
    with pytest.warns(RuntimeWarning, match="follow the very rows that they were found on"):
        slow.fit(np.random.default_rng(0).normal(size=(rows, columns)))
    modes = slow.modes_
    np.testing.assert_allclose(slow.delta_values_, 2, atol=0.3)
    assert (np.abs(modes.eigenvalues - 2) < 3 * modes.standard_errors).all()
    assert (modes.training_eigenvalues < 1.7).all()
    assert "training" in str(modes)


@pytest.mark.parametrize("seed", range(4))
def test_errors_cover_the_time_scales_of_a_known_process(seed):
    rng, memory = np.random.default_rng(seed), 0.9
    x = np.zeros(3000)
    for step in range(1, len(x)):
        x[step] = memory * x[step - 1] + rng.normal()
    modes = ex.solve(ex.Slowness(), ex.TimeSeries(x[:, None]), 3, progress=False)[1:]
    exact = 2 * (1 - memory ** np.array([1, 2]))  # of Hermite polynomials
    assert (np.abs(modes.eigenvalues - exact) < 3 * modes.standard_errors).all()
    assert (modes.standard_errors < 0.3 * exact).all()


def test_a_visit_that_was_only_once_is_told_of():
    rows = np.random.default_rng(0).normal(size=(1200, 2))
    rows[:, 1] = 0
    rows[500:560, 1] = 1
    with pytest.warns(RuntimeWarning, match="number 1, not counting the constant"):
        modes = ex.solve(ex.Slowness(), ex.TimeSeries(rows), 2, progress=False)
    assert modes.training_eigenvalues[1] < 0.1
    assert modes.standard_errors[1] > 0.5 * modes.eigenvalues[1]


def test_a_function_that_hardly_varies_elsewhere_is_told_of():
    series = Series.of([np.zeros((400, 1))])
    still = 0.01 * np.sin(np.arange(400) / 20)[:, None]
    measured = slowness_of([(series, still)])
    np.testing.assert_allclose(measured.values, (1 / 20) ** 2, rtol=0.1)
    assert "with a variance of 4.9e-05 in place of 1" in measured.note(measured.values)
    assert not slowness_of([(series, 100 * np.sqrt(2) * still)]).note(measured.values)


def test_values_of_training_are_kept_with_their_functions(tmp_path):
    modes = ex.solve(ex.Slowness(), ex.TimeSeries(np.random.default_rng(0).normal(size=(200, 2))), 3, progress=False)
    np.testing.assert_array_equal(modes[1:].training_eigenvalues, modes.training_eigenvalues[1:])
    modes.save(tmp_path / "modes.safetensors")
    again = ex.load(tmp_path)
    np.testing.assert_array_equal(again.training_eigenvalues, modes.training_eigenvalues)
    assert str(again) == str(modes)
    assert not np.array_equal(modes.training_eigenvalues, modes.eigenvalues)


def test_what_comes_after_the_last_value_is_not_known_of_other_rows():
    modes = ex.solve(ex.Slowness(), np.random.default_rng(0).normal(size=(300, 5)), 3, progress=False)
    assert modes.next_eigenvalue is None


def test_so_few_rows_that_a_block_has_none():
    rows = np.random.default_rng(0).random((2, 2))
    with pytest.warns(UserWarning, match="long enough"):
        assert len(ex.solve(ex.Slowness(), rows, 2, progress=False).eigenvalues) == 2


def test_functions_as_fast_as_noise_are_said_to_be_so():
    values = np.array([1.97, 2.02])
    assert "nothing in these rows is slow" in Elsewhere(values, np.full(2, 0.02), np.ones(2)).note(values, NOISE)
    values = np.array([1.2, 2.02])
    assert not Elsewhere(values, np.full(2, 0.02), np.ones(2)).note(values, NOISE)


@pytest.mark.filterwarnings("default::RuntimeWarning")
@pytest.mark.parametrize("factor", [1.0, -3.0])
def test_notes_are_in_the_units_of_the_operator(factor):
    rows, which = np.random.default_rng(0).normal(size=(400, 2)), "smallest" if factor > 0 else "largest"
    modes = ex.solve(factor * ex.GraphLaplacian(), ex.TimeSeries(rows), 3, which=which, progress=False)
    assert f"{abs(modes.training_eigenvalues[2]):.3g} on the rows" in modes.note

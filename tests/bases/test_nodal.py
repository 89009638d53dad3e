"""Eigenvectors of sparse graphs against closed forms and dense matrices, at nodes and between them."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import eigenax as ex
from eigenax.bases.softmax_cells import neighbour_graph
from eigenax.core import sparse_eigenvectors
from eigenax.lab.baselines.graph import exact_modes, graph_of
from eigenax.lab.scores.cosines import matched

ROOM = 60


def two_rooms(size=ROOM):
    """Cells of a square with a wall across it that has one door, and the edges between neighbours."""
    free = np.ones((size, size), bool)
    free[size // 2] = False
    free[size // 2, size // 3] = True
    numbers = np.cumsum(free).reshape(free.shape) - 1
    right, down = (free[:, :-1] & free[:, 1:]), (free[:-1] & free[1:])
    edges = [
        np.stack([numbers[:, :-1][right], numbers[:, 1:][right]], 1),
        np.stack([numbers[:-1][down], numbers[1:][down]], 1),
    ]
    return np.concatenate(edges), np.argwhere(free).astype(float)


def test_a_narrow_door_is_seen_to_all_digits():
    """Waves had 6.7e-4 ± 5e-3 for 7.4e-5 in rooms of 120 × 120."""
    edges, cells = two_rooms()
    source = ex.Graph(edges, cells, measure="degrees")
    modes = ex.solve(ex.GraphLaplacian(), source, 6, progress=False)
    exact = exact_modes(graph_of(source.graph.matrix, "degrees"), 6, "dense")
    np.testing.assert_allclose(modes.eigenvalues, exact.values[:6], atol=1e-13)
    assert modes.eigenvalues[1] < 1e-3
    assert modes.standard_errors.max() < 1e-13
    assert modes.stop_reason is ex.StopReason.DECOMPOSED
    assert matched(np.asarray(modes(cells)), exact.vectors, exact.values, source.graph.counts).cosines.min() > 1 - 1e-9
    twice = ex.solve(2 * ex.GraphLaplacian(), source, 6, progress=False)
    np.testing.assert_allclose(twice.eigenvalues, 2 * modes.eigenvalues, atol=1e-13)


@pytest.mark.parametrize("fill", [0, sparse_eigenvectors.LARGEST_FACTOR], ids=["without a factor", "inverted"])
@pytest.mark.parametrize("which", ["smallest", "largest"])
def test_eigenvalues_that_are_alike_are_all_found(which, fill, monkeypatch):
    """Two copies of a torus, each with pairs and fours of eigenvalues, by what begins with one vector."""
    monkeypatch.setattr(sparse_eigenvectors, "DENSE", 100)
    monkeypatch.setattr(sparse_eigenvectors, "LARGEST_FACTOR", fill)
    ring = scipy.sparse.diags_array([[1.0] * 19, [1.0], [1.0] * 19, [1.0]], offsets=[1, 19, -1, -19])
    one = scipy.sparse.kronsum(ring, ring)
    source = ex.Graph(scipy.sparse.block_diag([one, one]))
    modes = ex.solve(ex.GraphLaplacian(), source, 12, which=which, progress=False)
    waves = 2 - 2 * np.cos(2 * np.pi * np.arange(20) / 20)
    exact = np.sort(np.tile((waves[:, None] + waves).ravel(), 2))
    np.testing.assert_allclose(modes.eigenvalues, exact[:12] if which == "smallest" else exact[::-1][:12], atol=1e-12)
    assert modes.residuals.max() < 1e-10


def test_where_neither_converges_blocks_tell_how_far_they_came(monkeypatch):
    for name, value in (("DENSE", 100), ("LARGEST_FACTOR", 0), ("RESTARTS", 1), ("BLOCK_STEPS", 20)):
        monkeypatch.setattr(sparse_eigenvectors, name, value)
    edges = two_rooms(30)[0]
    source = ex.Graph(edges)
    modes = ex.solve(ex.GraphLaplacian(), source, 5, progress=False)
    exact = exact_modes(graph_of(source.graph.matrix), 5, "dense").values[:5]
    assert modes.residuals.max() > 1e-8
    assert (np.abs(modes.eigenvalues - exact) <= 3 * modes.standard_errors + 1e-13).all()


def test_a_factor_that_memory_has_no_room_for_is_foreseen():
    """In ten dimensions the factor of a neighbour graph is nearly full; on a line it has two entries a row."""
    rng = np.random.default_rng(0)
    crowd = neighbour_graph(rng.random((9000, 10)), 10)
    line = scipy.sparse.csr_array(scipy.sparse.diags_array([[1.0] * 8999, [1.0] * 8999], offsets=[1, -1]))
    assert sparse_eigenvectors.factor_entries(crowd) > 4e6
    assert sparse_eigenvectors.factor_entries(line) < 1e6
    assert not sparse_eigenvectors.room_for(10**6, 1000)


def test_rows_that_are_no_nodes_have_values_by_their_features_unless_nodes_are_numbered():
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle, edges = np.stack([np.cos(angles), np.sin(angles)], 1), [(k, (k + 1) % 400) for k in range(400)]
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph(edges, circle), 3, progress=False)
    between = angles + np.pi / 400
    new = np.asarray(modes(np.stack([np.cos(between), np.sin(between)], 1)))
    np.testing.assert_allclose((new[:, 1:] ** 2).sum(1), 2, atol=1e-5)
    numbered = ex.solve(ex.GraphLaplacian(), ex.Graph(edges), 3, progress=False)
    np.testing.assert_allclose(numbered.eigenvalues, modes.eigenvalues, atol=1e-13)
    np.testing.assert_array_equal(np.isnan(numbered(np.array([[399], [400], [0.5]])))[:, 0], [False, True, True])


def test_where_features_say_nothing_of_functions_a_note_says_so():
    features = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.warns(RuntimeWarning, match="functions are exact at nodes alone"):
        ex.solve(ex.GraphLaplacian(), ex.Graph([(k, k + 1) for k in range(199)], features), 4, progress=False)


def test_nodes_with_the_same_features_have_the_same_values_and_errors_tell_what_that_costs():
    edges, features = [(k, k + 1) for k in range(29)], (np.arange(30) // 2)[:, None] * 1.0
    source = ex.Graph(edges, features)
    modes = ex.solve(ex.GraphLaplacian(), source, 3, progress=False)
    onto = np.repeat(np.eye(15), 2, axis=0)
    small = onto.T @ source.graph.laplacian.toarray() @ onto
    np.testing.assert_allclose(modes.eigenvalues, scipy.linalg.eigh(small, np.eye(15) / 15)[0][:3], atol=1e-12)
    exact = 2 - 2 * np.cos(np.pi * np.arange(3) / 30)
    assert (modes.eigenvalues[1:] > 1.5 * exact[1:]).all()
    assert (np.abs(modes.eigenvalues - exact) < 3 * modes.standard_errors + 1e-12).all()


def test_modes_of_a_graph_are_saved(tmp_path):
    edges, cells = two_rooms(10)
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph(edges, cells), 3, progress=False)
    modes.save(tmp_path / "modes")
    np.testing.assert_array_equal(ex.load(tmp_path / "modes")(cells + 0.5), modes(cells + 0.5))
    np.testing.assert_array_equal(ex.load(tmp_path / "modes")(cells), modes(cells))


def test_numbers_of_states_are_counted_even_where_steps_are_few():
    walk = np.random.default_rng(0).permutation(50)[np.random.default_rng(1).choice([-1, 1], 300).cumsum() % 50]
    modes = ex.solve(ex.GraphLaplacian(), ex.Transitions(walk[:-1], walk[1:]), 4, progress=False)
    counts = np.zeros((50, 50))
    np.add.at(counts, (walk[:-1], walk[1:]), 0.5)
    counts = (counts + counts.T)[np.unique(walk)][:, np.unique(walk)]
    exact = scipy.linalg.eigh(np.diag(counts.sum(1)) - counts, np.diag(counts.sum(1)))[0]
    np.testing.assert_allclose(modes.eigenvalues, exact[:4], atol=1e-12)


def test_graphs_that_nothing_parts_are_not_factored():
    edges = np.sort(np.random.default_rng(0).integers(30_000, size=(90_000, 2)), 1)
    edges = np.unique(edges[edges[:, 0] < edges[:, 1]], axis=0)
    assert sparse_eigenvectors.factor_entries(ex.Graph(edges).graph.matrix) > 10 * sparse_eigenvectors.LARGEST_FACTOR


def test_a_long_path_has_its_slowest_values():
    nodes = 7000
    modes = ex.solve(
        ex.GraphLaplacian(), ex.Graph(np.stack([np.arange(nodes - 1), np.arange(1, nodes)], 1)), 3, progress=False
    )
    np.testing.assert_allclose(modes.eigenvalues[1:], 2 - 2 * np.cos(np.pi * np.arange(1, 3) / nodes), rtol=1e-6)


def test_parts_are_told_of_whichever_end_is_asked_for():
    two = ex.Graph(np.array([[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]))
    for which in ("smallest", "largest"):
        assert (
            "2 parts with no edges between them, each with an eigenvalue of 0"
            in ex.solve(ex.GraphLaplacian(), two, 3, which=which, progress=False).note
        )


def test_errors_of_few_steps_include_an_edge_that_was_hardly_walked():
    """Of 100 steps on the cells of a square, 2 of 40 values were beyond 3 errors."""
    numbers = np.arange(16).reshape(4, 4)
    sides = (numbers[:, :-1], numbers[:, 1:]), (numbers[:-1], numbers[1:])
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in sides])
    neighbours = [[int(b if a == cell else a) for a, b in edges if cell in (a, b)] for cell in range(16)]
    exact = exact_modes(graph_of(ex.Graph(edges).graph.matrix, "degrees"), 5, "dense").values[1:5]
    beyond = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        walk = [int(rng.integers(16))]
        for _ in range(100):
            around = neighbours[walk[-1]]
            walk.append(around[rng.integers(len(around))])
        modes = ex.solve(ex.GraphLaplacian(), ex.Transitions(walk[:-1], walk[1:]), 5, progress=False)
        beyond += (np.abs(modes.eigenvalues[1:] - exact) > 3 * modes.standard_errors[1:]).sum()
        assert (modes.sampling_errors[1:] < 0.5).all()  # none of them says nothing
    assert beyond == 0

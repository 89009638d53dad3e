"""Waves on graphs against dense matrices: all edges, and steps whose states nobody counts."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import eigenax as ex
from eigenax.bases.softmax_cells import neighbour_graph
from eigenax.errors import InterruptedRun
from eigenax.lab.baselines.graph import exact_modes, graph_of
from eigenax.lab.datasets.gridworlds import read_map, rooms
from eigenax.lab.scores.cosines import matched

GRID = rooms(2, 4)
CELLS = GRID.cells.astype(float)


def adjacency():
    return ex.Graph(GRID.edges(), CELLS).graph.matrix


@pytest.mark.parametrize("measure", ["nodes", "degrees"])
def test_all_eigenvectors_of_a_map_are_found_to_the_last_digits(measure):
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph(GRID.edges(), CELLS, measure=measure), n=20, progress=False)
    exact = exact_modes(graph_of(adjacency(), measure), 20, "dense")
    weights = np.ones(len(CELLS)) if measure == "nodes" else adjacency().sum(1)
    np.testing.assert_allclose(modes.eigenvalues, exact.values[:20], atol=1e-10)
    assert matched(np.asarray(modes(CELLS)), exact.vectors, exact.values, weights).cosines.min() > 1 - 1e-9
    assert modes.residuals.max() < 1e-8
    assert modes.standard_errors.max() < 1e-10
    np.testing.assert_allclose(np.average(np.asarray(modes(CELLS)) ** 2, axis=0, weights=weights), 1, rtol=1e-5)


def test_the_largest_ones_too_and_functions_go_on_between_the_nodes():
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph(GRID.edges(), CELLS), n=3, which="largest", progress=False)
    dense = np.diag(adjacency().sum(1)) - adjacency().toarray()
    np.testing.assert_allclose(modes.eigenvalues, np.linalg.eigvalsh(dense)[::-1][:3], atol=1e-10)
    assert np.isfinite(modes(CELLS + 0.5)).all()


def steps_on_a_map():
    before, after = GRID.steps(2000, 0)
    return ex.Transitions(CELLS[before], CELLS[after])


@pytest.mark.parametrize("source", [ex.Graph(GRID.edges(), CELLS), steps_on_a_map()], ids=["edges", "steps"])
@pytest.mark.parametrize(
    ("operator", "factor", "which"),
    [
        (2 * ex.GraphLaplacian(), 2, "smallest"),
        (ex.Slowness(), 2, "smallest"),
        (ex.Slowness() - ex.GraphLaplacian() / 2, 1.5, "smallest"),
        (-ex.GraphLaplacian(), -1, "largest"),
    ],
    ids=["twice", "slowness", "sum", "minus"],
)
def test_multiples_and_sums_have_the_same_functions_and_multiples_of_the_eigenvalues(operator, factor, which, source):
    plain = ex.solve(ex.GraphLaplacian(), source, n=4, progress=False)
    modes = ex.solve(operator, source, n=4, which=which, progress=False)
    assert (modes.solver, modes.stop_reason) == ("RayleighRitz", plain.stop_reason)
    np.testing.assert_allclose(modes.eigenvalues, factor * plain.eigenvalues, atol=1e-10)
    np.testing.assert_allclose(modes.standard_errors, abs(factor) * plain.standard_errors, atol=1e-10)
    # Signs are those of the largest values, and on a map that is its own mirror image rounding decides.
    np.testing.assert_allclose(np.abs(modes(CELLS)), np.abs(plain(CELLS)), atol=1e-3)


def test_columns_of_any_scale_are_the_same_to_it():
    stretched = CELLS * [1e-3, 1e4] + [5, -7e4]
    found = [ex.solve(ex.GraphLaplacian(), ex.Graph(GRID.edges(), x), n=6, progress=False) for x in (CELLS, stretched)]
    np.testing.assert_allclose(found[0].eigenvalues, found[1].eigenvalues, atol=1e-8)


def test_nodes_that_hardly_differ_are_fitted_as_well_as_rounding_allows():
    features = np.array([0.0, 1.0, 1.0 + 1e-9, 2.0, 3.0])[:, None]
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph([(k, k + 1) for k in range(4)], features), 3, progress=False)
    exact = 2 - 2 * np.cos(np.pi * np.arange(3) / 5)
    assert (modes.eigenvalues >= exact - 1e-9).all()
    assert (np.abs(modes.eigenvalues - exact) <= modes.standard_errors + 1e-9).all()
    v = np.asarray(modes(features))
    np.testing.assert_allclose(v.T @ v / 5, np.eye(3), atol=1e-4)


def test_crowded_nodes_have_orthonormal_functions_too():
    rng = np.random.default_rng(0)
    features = rng.random((300, 2))
    features[:60] = features[60:62][np.arange(60) % 2] + 1e-3 * rng.normal(size=(60, 2))
    source = ex.Graph(neighbour_graph(features, 7), features)
    for which in ("smallest", "largest"):
        modes = ex.solve(ex.GraphLaplacian(), source, n=4, which=which, max_steps=3, progress=False)
        v = np.asarray(modes(features), np.float64)
        np.testing.assert_allclose(v.T @ v / 300, np.eye(4), atol=1e-3)


def test_too_few_waves_say_how_far_they_are_off():
    source = ex.Graph(GRID.edges(), CELLS)
    solver = ex.RayleighRitz(n_basis=40, max_basis=40)
    modes = ex.solve(ex.GraphLaplacian(), source, n=8, solver=solver, max_steps=1, progress=False)
    exact = exact_modes(graph_of(adjacency()), 8).values[:8]
    assert (modes.eigenvalues >= exact - 1e-10).all()
    assert modes.residuals.max() > 1e-3
    assert (np.abs(modes.eigenvalues - exact) < 5 * modes.standard_errors + 1e-9).all()
    assert modes.stop_reason is ex.StopReason.MAX_STEPS


def test_steps_give_the_eigenvectors_of_the_graph_they_were_taken_on():
    before, after = GRID.steps(30_000, seed=1)
    modes = ex.solve(ex.GraphLaplacian(), ex.Transitions(CELLS[before], CELLS[after]), n=6, progress=False)
    taken = scipy.sparse.coo_array((np.ones(len(before)), (before, after)), (len(CELLS), len(CELLS))).toarray()
    counts = (taken + taken.T) / 2
    exact, vectors = scipy.linalg.eigh(np.diag(counts.sum(1)) - counts, np.diag(counts.sum(1)))
    np.testing.assert_allclose(modes.eigenvalues, exact[:6], rtol=1e-8, atol=1e-10)
    assert matched(np.asarray(modes(CELLS)), vectors, exact, counts.sum(1)).cosines.min() > 1 - 1e-8
    whole = exact_modes(graph_of(_moves_everywhere(), "degrees"), 6).values[:6]
    assert (np.abs(modes.eigenvalues - whole)[1:] < 4 * modes.standard_errors[1:]).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_steps_between_places_that_never_repeat_find_no_more_than_there_is(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(4000, 1))
    y = 0.9 * x + np.sqrt(1 - 0.9**2) * rng.normal(size=x.shape)
    modes = ex.solve(ex.GraphLaplacian(), ex.Transitions(x, y), 4, seed=seed, progress=False)
    exact = 1 - 0.9 ** np.arange(4)
    assert (np.abs(modes.eigenvalues - exact)[1:] < 4 * modes.standard_errors[1:]).all()
    np.testing.assert_allclose(modes.eigenvalues[:2], exact[:2], atol=0.02)


@pytest.mark.parametrize("columns", [1, 2])
def test_features_that_edges_do_not_follow_are_told_apart_all_the_same(columns):
    rng = np.random.default_rng(0)
    features = rng.permutation(60)[:, None].astype(float) if columns == 1 else rng.normal(size=(60, 2))
    ring = [(k, (k + 1) % 60) for k in range(60)]
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph(ring, features), 5, progress=False)
    angles = 2 * np.pi * np.array([0, 1, 1, 2, 2]) / 60
    np.testing.assert_allclose(modes.eigenvalues, 2 - 2 * np.cos(angles), atol=1e-6)


def test_weights_that_float32_cannot_hold_are_kept():
    chain = [(k, k + 1) for k in range(19)]
    source = ex.Graph(chain, np.arange(20.0)[:, None], weights=np.full(19, 0.1))
    modes = ex.solve(ex.GraphLaplacian(), source, 4, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, 0.1 * (2 - 2 * np.cos(np.pi * np.arange(4) / 20)), atol=1e-14)


def test_another_solver_does_not_go_on_with_a_run(tmp_path):
    problem = ex.GraphLaplacian(), ex.Graph(GRID.edges(), CELLS)
    ex.solve(*problem, 5, solver=ex.RayleighRitz(n_basis=20), checkpoint_dir=tmp_path, progress=False)
    with pytest.raises(RuntimeError, match="n_basis was 20 and is 40"):
        ex.solve(*problem, 5, solver=ex.RayleighRitz(n_basis=40), checkpoint_dir=tmp_path, progress=False)


def test_nearly_all_modes_of_a_graph_can_be_had():
    modes = ex.solve(ex.GraphLaplacian(), ex.Graph(GRID.edges(), CELLS), n=len(CELLS) - 1, progress=False)
    dense = np.diag(adjacency().sum(1)) - adjacency().toarray()
    np.testing.assert_allclose(modes.eigenvalues, np.linalg.eigvalsh(dense)[:-1], atol=1e-9)


def _moves_everywhere():
    """The graph of all moves from all cells: a wall stops a move."""
    cells = len(CELLS)
    dense = adjacency().toarray()
    return scipy.sparse.csr_array(dense + np.diag(4 - dense.sum(1)) + np.zeros((cells, cells)))


def test_a_run_goes_on_to_the_same_bits(tmp_path):
    problem = ex.GraphLaplacian(), ex.Graph(GRID.edges(), CELLS)
    settings = {"n": 5, "solver": ex.RayleighRitz(n_basis=20, max_basis=40), "progress": False}
    whole = ex.solve(*problem, **settings)
    assert whole.steps == 2

    def stop(snapshot):
        if snapshot.step == 1:
            raise InterruptedRun("stopped", snapshot)

    with pytest.raises(InterruptedRun):
        ex.solve(*problem, **settings, checkpoint_dir=tmp_path, callbacks=[stop])
    again = ex.solve(*problem, **settings, checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(again.coefficients, whole.coefficients)


def test_what_cannot_be_had_is_one_sentence():
    with pytest.raises(ValueError, match="n must be at most the number of nodes with edges, 3; got 4"):
        ex.solve(ex.GraphLaplacian(), ex.Graph([(0, 1), (1, 2)], np.arange(4.0)[:, None]), n=4, progress=False)
    blind = ex.Graph([(0, 1), (1, 2), (2, 3), (3, 4)], np.array([[0.0], [0.0], [1.0], [1.0], [0.0]]))
    with pytest.raises(RuntimeError, match="3 functions cannot be told apart, only 2 can be"):
        ex.solve(ex.GraphLaplacian(), blind, n=3, progress=False)


def test_parts_that_no_edge_joins_have_a_zero_each():
    source = ex.Graph([(0, 1), (1, 2), (3, 4)], np.arange(5.0)[:, None])
    with pytest.warns(RuntimeWarning, match="the graph has 2 parts"):
        modes = ex.solve(ex.GraphLaplacian(), source, n=4, progress=False)
    assert "the graph has 2 parts" in modes.note
    np.testing.assert_allclose(modes(np.arange(5.0)[:, None])[:, 0], 1, rtol=1e-6)
    np.testing.assert_allclose(modes.eigenvalues, [0, 0, 1, 2], atol=1e-10)


def test_of_steps_no_residual_is_told():
    before, after = GRID.steps(2000, seed=0)
    modes = ex.solve(ex.GraphLaplacian(), ex.Transitions(CELLS[before], CELLS[after]), n=3, progress=False)
    assert "nan" not in str(modes)
    assert "residual" not in str(modes)
    assert "*" not in str(modes)


def test_one_step_is_too_few():
    with pytest.raises(ValueError, match="at least two steps"):
        ex.solve(ex.GraphLaplacian(), ex.Transitions(np.zeros((1, 1)), np.ones((1, 1))), n=2, progress=False)


def test_a_run_that_has_ended_is_there_again_without_a_step(tmp_path):
    steps = []
    settings = {"n": 3, "checkpoint_dir": tmp_path, "callbacks": [lambda snapshot: steps.append(snapshot.step)]}
    first, again = (
        ex.solve(ex.GraphLaplacian(), ex.Graph(GRID.edges(), CELLS), progress=False, **settings) for _ in range(2)
    )
    assert steps == [*range(first.steps + 1), first.steps]
    assert (again.steps, again.stop_reason) == (first.steps, first.stop_reason)
    np.testing.assert_array_equal(again.coefficients, first.coefficients)


def test_values_are_those_of_the_functions_that_are_returned():
    """About as many waves as nodes: rounding makes other functions of them than their moments tell."""
    grid = read_map("rooms")
    source = ex.Graph(grid.edges(), grid.cells.astype(float))
    modes = ex.solve(ex.GraphLaplacian(), source, 11, progress=False)
    matrix = source.graph.matrix.toarray()
    exact = np.linalg.eigvalsh(np.diag(matrix.sum(1)) - matrix)[:11]
    assert (np.abs(modes.eigenvalues - exact) < 3 * modes.standard_errors + 1e-14).all()

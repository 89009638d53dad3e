"""Smooth functions of graphs as combinations of cells, against dense matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_moons

import eigenax as ex
from eigenax.bases import graph_cells, softmax_cells
from eigenax.bases.softmax_cells import Cells, FeatureGraph, centres_of, moments_on, neighbour_graph
from eigenax.errors import SingularMomentsError
from eigenax.lab.baselines.nystrom import Likeness, decomposed


def moons(count, seed=0):
    rows = make_moons(count, noise=0.05, random_state=seed)[0]
    return FeatureGraph(rows, neighbour_graph(rows, 10))


def embedded(graph, n, cells=256, **more):
    """The n smoothest functions after the constant."""
    source = ex.Graph(graph.edges, graph.rows, measure="degrees")
    solver = ex.RayleighRitz(basis=ex.SoftmaxCells(cells))
    return ex.solve(ex.GraphLaplacian(), source, n + 1, solver=solver, progress=False)


def test_shares_add_up_to_one_and_are_the_same_one_by_one_and_together():
    rows = np.random.default_rng(0).normal(size=(40, 3)) + 1e3
    cells = Cells.around(rows[:7], rate=2.0)
    shares = cells.of_rows(rows)
    np.testing.assert_allclose(shares.sum(1), 1)
    distances = ((rows[:, None] - rows[:7]) ** 2).sum(-1)
    np.testing.assert_allclose(shares, (w := np.exp(-2 * distances)) / w.sum(1, keepdims=True), atol=1e-5)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.vmap(cells)(jnp.asarray(rows)), shares, atol=1e-12)


def test_centres_are_as_many_as_rows_that_differ():
    rows = np.repeat(np.arange(5.0), 20)[:, None]
    assert sorted(centres_of(rows, 50, seed=0).places.ravel().tolist()) == [0, 1, 2, 3, 4]


def test_moments_are_those_of_the_dense_matrices_in_pieces_too(monkeypatch):
    graph = moons(200)
    cells = Cells.around(graph.rows[:20], rate=5.0)
    u, a = cells.of_rows(graph.rows), graph.edges.toarray()
    degrees = a.sum(1)
    mean = degrees @ u / degrees.sum()
    for at_once in (softmax_cells.AT_ONCE, 2000):
        monkeypatch.setattr(softmax_cells, "AT_ONCE", at_once)
        found = moments_on(graph, cells)
        np.testing.assert_allclose(found.mean, mean)
        np.testing.assert_allclose(
            found.sigma, (u - mean).T @ np.diag(degrees) @ (u - mean) / degrees.sum(), atol=1e-12
        )
        np.testing.assert_allclose(found.pi, u.T @ (np.diag(degrees) - a) @ u / degrees.sum(), atol=1e-12)


def test_eigenvalues_are_those_of_the_graph_and_functions_are_close():
    """They were 5 to 40 % high, with errors as large as the values."""
    graph = moons(300)
    exact = decomposed(graph.edges, 3)
    modes = embedded(graph, 3, cells=16)[1:]
    np.testing.assert_allclose(modes.eigenvalues, exact.eigenvalues, atol=1e-12)
    assert modes.standard_errors.max() < 1e-14
    degrees, values = graph.edges.sum(1), np.asarray(modes(graph.rows))
    np.testing.assert_allclose((values * degrees[:, None]).T @ values / degrees.sum(), np.eye(3), atol=1e-5)
    assert Likeness.of(values, exact.vectors).subspace_distance < 0.05
    three = -3 * ex.GraphLaplacian()
    source = ex.Graph(graph.edges, graph.rows, measure="degrees")
    solver = ex.RayleighRitz(basis=ex.SoftmaxCells(16))
    largest = ex.solve(three, source, 4, which="largest", solver=solver, progress=False)[1:]
    np.testing.assert_allclose(largest.eigenvalues, -3 * exact.eigenvalues, atol=1e-12)


def test_of_too_many_edges_eigenvalues_are_close_from_above_and_functions_too(monkeypatch):
    monkeypatch.setattr(graph_cells, "ENTRIES", 0)
    graph = moons(300)
    exact = decomposed(graph.edges, 3)
    modes = embedded(graph, 3, cells=64)
    assert modes.eigenvalues[0] == 0
    np.testing.assert_allclose(modes(graph.rows)[:, 0], 1, atol=1e-6)
    modes = modes[1:]
    assert (modes.eigenvalues >= exact.eigenvalues - 1e-6).all()
    np.testing.assert_allclose(modes.eigenvalues, exact.eigenvalues, rtol=0.25)
    values = np.asarray(modes(graph.rows))
    assert Likeness.of(values, exact.vectors).subspace_distance < 0.01
    degrees = graph.edges.sum(1)
    np.testing.assert_allclose((values * degrees[:, None]).T @ values / degrees.sum(), np.eye(3), atol=1e-3)
    np.testing.assert_allclose(degrees @ values / degrees.sum(), 0, atol=1e-5)
    assert (modes.standard_errors > 0).all()


def test_residuals_are_those_of_the_dense_matrix():
    graph = moons(150)
    modes = embedded(graph, 2, cells=32)[1:]
    degrees = graph.edges.sum(1)
    values = np.asarray(modes(graph.rows), np.float64)
    rest = values - graph.edges @ values / degrees[:, None] - modes.eigenvalues * values
    expected = np.sqrt((degrees / degrees.sum()) @ rest**2)
    np.testing.assert_allclose(modes.residuals, expected, rtol=1e-3)


def test_values_of_new_rows_are_close_to_the_full_decomposition():
    whole = moons(900)
    exact = decomposed(whole.edges, 4)
    seen = whole.rows[:600]
    modes = embedded(FeatureGraph(seen, neighbour_graph(seen, 10)), 4, cells=100)[1:]
    told = Likeness.of(np.asarray(modes(whole.rows[600:])), exact.vectors[600:])
    assert told.subspace_distance < 0.05
    assert told.mean_cosine > 0.97


def test_too_few_rows_that_differ_are_told():
    rows = np.repeat(np.arange(3.0), 20)[:, None]
    edges = np.ones((60, 60)) - np.eye(60)
    with pytest.raises(SingularMomentsError, match="4 functions cannot be told apart, only 2 can be"):
        embedded(FeatureGraph(rows, softmax_cells.Adjacency(edges)), 4)


def test_a_thin_chain_stays_whole_where_some_of_its_nodes_are_held_out():
    t = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    circle = np.stack([np.cos(t), np.sin(t)], 1)
    graph = FeatureGraph(circle, neighbour_graph(circle, 4))
    seen = np.sort(np.random.default_rng(0).permutation(300)[:200])
    part = graph.among(seen).edges
    np.testing.assert_allclose(part.toarray(), part.toarray().T)
    pieces = [connected_components(edges)[0] for edges in (graph.edges[seen][:, seen], part)]
    assert pieces[1] < pieces[0]


def test_exact_eigenvalues_are_not_doubted_for_fits_of_their_functions():
    """All had stars, with errors of 1e-16 beside them."""
    graph = moons(300, seed=1)
    exact = decomposed(graph.edges, 3)
    modes = embedded(graph, 3, cells=128, tol=1e-6)  # one that was missed would warn
    degrees = graph.edges.sum(1) / graph.edges.sum()
    vectors = exact.vectors / np.sqrt(degrees @ exact.vectors**2)
    cosines = degrees @ (np.asarray(modes(graph.rows))[:, 1:] * vectors)
    assert not modes.unconverged.any()
    np.testing.assert_allclose(modes.missed, [0, *(1 - cosines**2)], atol=1e-6)
    np.testing.assert_array_equal(modes[2:].missed, modes.missed[2:])
    assert "functions are fits of its eigenvectors" in str(modes)


def test_a_star_marks_a_fit_that_misses_much_of_its_function():
    modes = embedded(moons(300), 7, cells=8)
    assert not modes.unconverged[0]
    assert modes.missed[-1] > 0.1
    assert modes.unconverged[-1]
    assert "* not converged, as what its function misses tells" in str(modes)


def test_there_are_as_many_cells_as_were_asked_for_however_few_rows_fit_in_memory(monkeypatch):
    monkeypatch.setattr(softmax_cells, "DISTANCES", 2000)
    assert len(centres_of(np.random.default_rng(0).normal(size=(500, 2)), 100, 0).places) == 100

"""Decompositions against dense matrices, and what landmarks say of rows between them."""

import numpy as np
import scipy.linalg
from sklearn.datasets import make_moons

from eigenax.bases.softmax_cells import neighbour_graph, rbf_graph
from eigenax.lab.baselines import graph, nystrom
from eigenax.lab.baselines.nystrom import Likeness, Nystrom, decomposed, landmarks_within


def moons(count, seed=0):
    return make_moons(count, noise=0.05, random_state=seed)[0]


def test_dense_and_sparse_decompositions_solve_the_generalised_problem(monkeypatch):
    edges = neighbour_graph(moons(300), 10)
    degrees = edges.sum(1)
    exact = scipy.linalg.eigh(np.diag(degrees) - edges.toarray(), np.diag(degrees), eigvals_only=True)
    dense = decomposed(edges, 4)
    monkeypatch.setattr(graph, "DENSE", 10)
    sparse = decomposed(edges, 4)
    for found in (dense, sparse):
        np.testing.assert_allclose(found.eigenvalues, exact[1:5], atol=1e-8)
        gram = (found.vectors * degrees[:, None]).T @ found.vectors / degrees.sum()
        np.testing.assert_allclose(gram, np.eye(4), atol=1e-6)
        np.testing.assert_allclose(degrees @ found.vectors, 0, atol=1e-4)


def test_with_all_affinities_landmarks_get_their_own_values_back():
    rows = moons(200)
    there = Nystrom.of(rows, 3, neighbours=0, gamma=20.0)
    assert Likeness.of(there(rows), there.found.vectors).subspace_distance < 1e-2


def test_new_rows_are_close_to_the_full_decomposition_with_many_landmarks():
    rows = moons(600)
    exact = decomposed(neighbour_graph(rows, 10), 3)
    found = Nystrom.of(rows[:450], 3)(rows[450:])
    told = Likeness.of(found, exact.vectors[450:])
    assert told.subspace_distance < 0.05
    assert told.mean_cosine > 0.97


def test_pieces_make_no_difference(monkeypatch):
    rows = moons(150)
    there = [Nystrom.of(rows[:100], 2), Nystrom.of(rows[:100], 2, neighbours=0, gamma=5.0)]
    together = [one(rows) for one in there]
    monkeypatch.setattr(nystrom, "PIECE", 7)
    for one, values in zip(there, together, strict=True):
        np.testing.assert_allclose(one(rows), values)


def test_landmarks_fit_into_their_bytes():
    rows = np.random.default_rng(0).normal(size=(500, 8))
    for size in (3000, 10_000):
        some = landmarks_within(size, rows, 3, seed=0)
        assert size - 4 * 11 < Nystrom.of(some, 3).model_bytes <= size
    assert len(landmarks_within(10**6, rows, 3, seed=0)) == 500


def test_kernels_join_all_rows_but_not_with_themselves():
    graph = rbf_graph(np.array([[1e6], [1e6 + 1], [1e6 + 3]]), 0.5).toarray()
    np.testing.assert_allclose(graph, np.exp([[-np.inf, -0.5, -4.5], [-0.5, -np.inf, -2], [-4.5, -2, -np.inf]]))

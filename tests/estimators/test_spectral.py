"""Spectral embedding: scikit-learn's own checks, new rows against full decompositions, files, and bad input."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import eigenax as ex
from eigenax.bases.softmax_cells import neighbour_graph, rbf_graph
from eigenax.errors import RunError
from eigenax.estimators import spectral
from eigenax.estimators.spectral import SpectralEmbedding
from eigenax.io.files import pack_tensors
from eigenax.lab.baselines.nystrom import Likeness, decomposed

pytestmark = pytest.mark.filterwarnings("ignore:the graph falls into")


@parametrize_with_checks([SpectralEmbedding(random_state=0)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def moons(count, seed=0):
    return make_moons(count, noise=0.05, random_state=seed)


def embedding(n=2, **settings):
    return SpectralEmbedding(n, **({"cells": 64, "random_state": 0} | settings))


@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf", "precomputed"])
def test_new_rows_get_nearly_what_the_decomposition_of_all_rows_gives_them(affinity):
    rows, _ = moons(600)
    made = {
        "nearest_neighbors": lambda rows: neighbour_graph(rows, 10),
        "rbf": lambda rows: rbf_graph(rows, 30.0),
        "precomputed": lambda rows: neighbour_graph(rows, 10),
    }[affinity]
    exact = decomposed(made(rows), 3)
    given = {"edges": made(rows[:450])} if affinity == "precomputed" else {}
    found = embedding(3, affinity=affinity, gamma=30.0).fit(rows[:450], **given)
    told = Likeness.of(found.transform(rows[450:]), exact.vectors[450:])
    assert told.subspace_distance < 0.05
    assert told.mean_cosine > 0.97


def test_results_have_their_names():
    rows, moon = moons(400)
    found = embedding(3).fit(rows)
    assert isinstance(found.modes_, ex.Modes)
    np.testing.assert_array_equal(found.eigenvalues_, found.modes_.eigenvalues)
    np.testing.assert_array_equal(found.embedding_, found.transform(rows))
    np.testing.assert_array_equal(found.embedding_, embedding(3).fit_transform(rows))
    assert abs(np.corrcoef(found.embedding_[:, 0], moon)[0, 1]) > 0.9
    steps = np.diff([0, *found.eigenvalues_])
    assert found.eigengap_ == (steps.argmax(), steps.max())
    assert (np.diff(found.eigenvalues_) > 0).all()


def test_the_gap_tells_how_many_clusters_there_are():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(80, 2)) + middle for middle in ([0, 0], [4, 0], [0, 4])])
    assert embedding(5, n_neighbors=20).fit(rows).eigengap_.after == 2


def test_edges_may_be_dense_and_need_not_follow_features():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    along = np.argsort(rows[:, 1])  # a chain along the second feature alone
    edges = np.zeros((300, 300))
    for step in (1, 2, 3):
        edges[along[:-step], along[step:]] = edges[along[step:], along[:-step]] = 1
    np.fill_diagonal(edges, 5)  # loops count for nothing
    found = embedding(1, affinity="precomputed").fit(rows, edges=edges)
    sparse = embedding(1, affinity="precomputed").fit_transform(rows, edges=scipy.sparse.csc_matrix(edges))
    np.testing.assert_array_equal(found.embedding_, sparse)
    assert abs(np.corrcoef(found.embedding_[:, 0], np.argsort(along))[0, 1]) > 0.95


def test_chunks_are_not_forgotten_and_what_is_remembered_has_a_limit(monkeypatch):
    rows, _ = moons(500)
    apart = embedding(2).partial_fit(rows[:250]).partial_fit(rows[250:])
    np.testing.assert_array_equal(apart.transform(rows), embedding(2).fit(rows).transform(rows))
    monkeypatch.setattr(spectral, "MEMORY_ROWS", 200)
    order = np.argsort(rows[:, 0])
    few = embedding(2)
    for chunk in np.array_split(order, 4):
        few.partial_fit(rows[chunk])
    assert len(few._memory) == len(few.embedding_) == 200
    assert Likeness.of(few.transform(rows), apart.transform(rows)).subspace_distance < 0.1
    assert not np.shares_memory(few._memory, rows)


def test_a_chunk_that_cannot_be_learned_from_is_not_remembered():
    rows, _ = moons(100)
    found = embedding(2).partial_fit(rows)
    found.n_components = 1000
    with pytest.raises(ValueError, match="n_components must be less"):
        found.partial_fit(rows + 1)
    assert len(found._memory) == 100


def test_it_is_saved_and_loaded_without_pickle(tmp_path):
    rows, _ = moons(300)
    found = embedding(2).fit(rows)
    found.feature_names_in_ = np.array(["a", "b"], object)  # as a data frame leaves them
    found.save(tmp_path / "moons.safetensors")
    again = SpectralEmbedding.load(tmp_path / "moons.safetensors")
    del found.feature_names_in_
    assert again.feature_names_in_.tolist() == ["a", "b"]
    del again.feature_names_in_
    np.testing.assert_array_equal(again.transform(rows), found.transform(rows))
    assert again.get_params() == found.get_params()
    assert again.eigengap_ == found.eigengap_
    assert again.eigenvalues_.tolist() == found.eigenvalues_.tolist()
    with pytest.raises(ValueError, match="features"):
        again.transform(rows[:, :1])
    again.partial_fit(rows)
    with pytest.raises(RunError, match="there is no file"):
        SpectralEmbedding.load(tmp_path / "other.safetensors")
    found.modes_.save(tmp_path / "modes.safetensors")
    with pytest.raises(RunError, match="does not hold a spectral embedding"):
        SpectralEmbedding.load(tmp_path / "modes.safetensors")
    (tmp_path / "older.safetensors").write_bytes(pack_tensors({}, {"format": "eigenax-spectral-embedding-1"}))
    with pytest.raises(RunError, match="another version of eigenax"):
        SpectralEmbedding.load(tmp_path / "older.safetensors")
    with pytest.raises(TypeError, match="random_state=None or a number"):
        embedding(1, random_state=np.random.RandomState(0)).fit(rows).save(tmp_path / "not.safetensors")


def test_it_works_in_a_pipeline_and_where_features_are_large_and_far_from_zero():
    rows, moon = moons(300)
    pipeline = make_pipeline(StandardScaler(), embedding(1)).fit(rows)
    assert abs(np.corrcoef(pipeline.transform(rows)[:, 0], moon)[0, 1]) > 0.9
    pickle.loads(pickle.dumps(pipeline)).transform(rows)
    far = embedding(2).fit(1e3 * rows + 1e6).transform(1e3 * rows + 1e6)
    assert Likeness.of(far, embedding(2).fit_transform(rows)).subspace_distance < 1e-3


def test_parts_of_a_graph_are_counted_and_told_apart():
    rows = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([0, 50, 100], 30)[:, None]
    with pytest.warns(UserWarning, match="falls into 3 parts"):
        found = embedding(2, cells=30).fit(rows)
    assert found.eigenvalues_.max() < 1e-6


def chain(count):
    return np.diag(np.ones(count - 1), 1) + np.diag(np.ones(count - 1), -1)


def lonely():
    edges = chain(40)
    edges[7], edges[:, 7] = 0, 0
    return edges


@pytest.mark.parametrize(
    ("settings", "edges", "said"),
    [
        ({"affinity": "precomputed"}, None, r"needs the graph too: fit\(X, edges=A\)"),
        ({"affinity": "precomputed"}, np.triu(chain(40)), r"edges must be symmetric.*give \(A \+ A.T\) / 2"),
        ({"affinity": "precomputed"}, -chain(40), "edges must not be negative.*got -1"),
        ({"affinity": "precomputed"}, np.nan * chain(40), "edges must be finite"),
        ({"affinity": "precomputed"}, chain(39), r"\(40, 40\); got \(39, 39\)"),
        ({"affinity": "precomputed"}, "graph", "edges must be a matrix of numbers"),
        ({"affinity": "precomputed"}, lonely(), "1 have none, the first is row 7: leave them out, or give them one"),
        ({}, chain(40), "edges go with affinity='precomputed' alone; got affinity='nearest_neighbors'"),
        ({"affinity": "rbf", "gamma": 1e9}, None, "40 have none, the first is row 0.*smaller gamma"),
        ({"affinity": "rbf", "gamma": -1.0}, None, "gamma must be a positive number"),
        ({"affinity": "cosine"}, None, "affinity must be 'nearest_neighbors' or 'rbf' or 'precomputed'; got 'cosine'"),
        ({"n_components": 40}, None, "n_components must be less than the number of rows, 40; got 40"),
        ({"n_components": 0}, None, "n_components must be a whole number"),
        ({"n_components": 5, "cells": 5}, None, "cells must be more than n_components = 5"),
        ({"n_neighbors": 0}, None, "n_neighbors must be a whole number"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(settings, edges, said):
    rows = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=said):
        SpectralEmbedding(**settings).fit(rows, edges=edges)


def test_bad_rows_are_refused():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        SpectralEmbedding().fit(rows)
    with pytest.raises(ValueError, match="every row of X is the same"):
        SpectralEmbedding().fit(np.ones((40, 2)))
    with pytest.raises(ValueError, match="n_components = 4 is too many"):
        SpectralEmbedding(4).fit(np.repeat(np.arange(3.0), 20)[:, None])
    with pytest.raises(ValueError, match="fit all rows at once"):
        SpectralEmbedding(affinity="precomputed").partial_fit(np.eye(4))
    with pytest.raises(NotFittedError):
        SpectralEmbedding().transform(np.ones((3, 2)))


def test_kernels_are_refused_where_all_pairs_are_too_many(monkeypatch):
    monkeypatch.setattr(spectral, "MAX_RBF_ROWS", 30)
    with pytest.raises(ValueError, match="at most 30; got 40: take affinity='nearest_neighbors'"):
        SpectralEmbedding(affinity="rbf").fit(np.random.default_rng(0).normal(size=(40, 2)))


def test_more_neighbours_than_rows_are_told_of():
    rows = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.warns(UserWarning, match="n_neighbors = 30 is more than the 11 other rows there are"):
        SpectralEmbedding(2, n_neighbors=30, random_state=0).fit(rows)

"""The Laplacian of a graph against its dense matrix: all of it at once, and from walks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import eigenax as ex

NODES, FUNCTIONS = 24, 3


def weighted_graph():
    """A weighted graph of one piece, with loops at a few nodes."""
    rng = np.random.default_rng(0)
    matrix = np.triu(rng.random((NODES, NODES)) * (rng.random((NODES, NODES)) < 0.2), 1)
    matrix[np.arange(NODES - 1), np.arange(1, NODES)] = 0.5
    return matrix + matrix.T + np.diag(np.where(np.arange(NODES) % 5 == 0, 0.7, 0.0))


def dense(matrix, measure):
    """The Laplacian, and what each node counts."""
    degrees = matrix.sum(1)
    if measure == "nodes":
        return np.diag(degrees) - matrix, np.ones(NODES) / NODES
    return np.eye(NODES) - matrix / degrees[:, None], degrees / degrees.sum()


def functions():
    values = np.random.default_rng(1).normal(size=(NODES, FUNCTIONS))
    return values, lambda x: x @ jnp.asarray(values, x.dtype)


@pytest.mark.parametrize("measure", ["nodes", "degrees"])
def test_all_of_a_graph_gives_the_dense_matrix(measure):
    matrix = weighted_graph()
    laplacian, counts = dense(matrix, measure)
    values, function = functions()
    batch = ex.Graph(scipy.sparse.csr_array(matrix), np.eye(NODES), measure=measure).sample(jax.random.key(0), 99)
    u = jax.vmap(function)(batch.x)
    np.testing.assert_allclose(batch.weights / NODES, counts, rtol=1e-5)
    np.testing.assert_allclose(ex.GraphLaplacian().apply(function, batch, u), laplacian @ values, atol=1e-5)
    twice = ex.GraphLaplacian().independent_estimates(function, batch, u)
    for estimate in (twice.first, twice.second):
        np.testing.assert_allclose(estimate, laplacian @ values, atol=1e-5)


@pytest.mark.parametrize("measure", ["nodes", "degrees"])
def test_walks_give_it_without_bias(measure):
    matrix = weighted_graph()
    laplacian, counts = dense(matrix, measure)
    values, function = functions()
    source = ex.Graph(scipy.sparse.csr_array(matrix), np.eye(NODES), measure=measure)

    def moments(key):
        batch = source.sample(key, 16)
        u = jax.vmap(function)(batch.x)
        weighted = batch.weights[:, None] * u / len(u)
        twice = ex.GraphLaplacian().independent_estimates(function, batch, u)
        squared = twice.first.T @ (twice.weights[:, None] * twice.second) / len(u)
        # A third of the points is in the middle of a walk, with two thirds of the weight.
        return weighted.T @ u, weighted.T @ ex.GraphLaplacian().apply(function, batch, u), 2 * squared

    found = jax.jit(jax.vmap(moments))(jax.random.split(jax.random.key(0), 20_000))
    changed = laplacian @ values
    wanted = (
        values.T @ (counts[:, None] * values),
        values.T @ (counts[:, None] * changed),
        changed.T @ (counts[:, None] * changed),
    )
    for one, exact in zip(found, wanted, strict=True):
        mean, error = one.mean(0), one.std(0) / np.sqrt(len(one))
        assert np.abs((mean - exact) / error).max() < 4


@pytest.mark.parametrize("measure", ["nodes", "degrees"])
def test_training_finds_the_first_eigenvectors(measure):
    matrix = weighted_graph()
    laplacian, counts = dense(matrix, measure)
    exact, vectors = scipy.linalg.eigh(counts[:, None] * laplacian, np.diag(counts))
    source = ex.Graph(scipy.sparse.csr_array(matrix), np.eye(NODES), measure=measure)
    modes = ex.solve(ex.GraphLaplacian(), source, 4, solver=ex.SpIN(batch=NODES), max_steps=2000, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, exact[:4], atol=2e-3)
    cosines = np.abs(np.sum(counts[:, None] * np.asarray(modes(np.eye(NODES))) * vectors[:, :4], 0))
    np.testing.assert_allclose(cosines, 1, atol=1e-2)

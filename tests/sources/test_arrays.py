"""Rows of an array, drawn with replacement."""

import pickle

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import eigenax as ex


def sample(source, size):
    return jax.jit(lambda key: source.sample(key, size))(jax.random.key(0))


ROWS, SIZE = 6, 12_000
NUMBERED = jnp.arange(ROWS, dtype=float)[:, None] * jnp.ones(3)


def test_every_row_is_drawn_equally_often_and_whole():
    points = sample(ex.Arrays(NUMBERED), SIZE)
    assert points.x.shape == (SIZE, 3)
    np.testing.assert_array_equal(points.x, np.repeat(points.x[:, :1], 3, axis=1))
    counts = np.bincount(np.asarray(points.x[:, 0], int), minlength=ROWS)
    np.testing.assert_allclose(counts, SIZE / ROWS, atol=4.5 * np.sqrt(SIZE / ROWS))
    np.testing.assert_array_equal(points.weights, np.ones(SIZE))


def test_rows_may_be_images():
    source = ex.Arrays(jnp.arange(2 * 3 * 4 * 4, dtype=float).reshape(2, 3, 4, 4))
    assert source.shape == (3, 4, 4)
    x = sample(source, 5).x
    assert x.shape == (5, 3, 4, 4)
    assert set(np.asarray(x[:, 0, 0, 0]).tolist()) == {0.0, 48.0}


def test_the_same_key_gives_the_same_batch_and_another_key_another():
    source = ex.Arrays(NUMBERED)
    draw = jax.jit(lambda key: source.sample(key, 50).x)
    first, again, other = (draw(jax.random.key(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_parts_of_a_spread_are_independent_draws_for_want_of_better():
    source = ex.Arrays(NUMBERED)
    part = jax.jit(lambda key, index: source.sample_qmc(key, 50, index))
    first, again, other = (part(jax.random.key(0), jnp.asarray(index)) for index in (0, 0, 1))
    np.testing.assert_array_equal(first.x, again.x)
    assert (first.x != other.x).any()
    np.testing.assert_array_equal(other.weights, np.ones(50))


@pytest.mark.usefixtures("as_user")
def test_numpy_arrays_and_whole_numbers_become_floats():
    points = sample(ex.Arrays(np.arange(6).reshape(3, 2)), 4)
    assert points.x.dtype == points.weights.dtype == jnp.float32


@pytest.mark.parametrize(("data", "shape"), [(jnp.zeros(5), r"\(5,\)"), (jnp.zeros((0, 3)), r"\(0, 3\)")])
def test_data_must_be_rows_of_points(data, shape):
    with pytest.raises(ValueError, match=rf"array of points \(rows, features…\); got shape {shape}"):
        ex.Arrays(data)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
def test_data_must_be_finite(bad):
    with pytest.raises(ValueError, match="NaN or infinity"):
        ex.Arrays(NUMBERED.at[2, 1].set(bad))


@pytest.mark.usefixtures("as_user")
def test_data_must_be_real_numbers():
    with pytest.raises(ValueError, match="data must be real; got complex"):
        ex.Arrays(np.ones((3, 2)) * 1j)
    with pytest.raises(ValueError, match="float32 can hold"):
        ex.Arrays(np.array([[1e39, 0.0]]))
    with pytest.raises(ValueError, match="data must be an array of numbers"):
        ex.Arrays(np.array([["a"], ["b"]]))


def test_rows_of_numbers_are_declared_in_float64_and_images_are_not():
    source = ex.Arrays(NUMBERED)
    assert source.rows.dtype == np.float64
    np.testing.assert_array_equal(source.rows, NUMBERED)
    assert ex.Arrays(jnp.zeros((2, 3, 4, 4))).rows is None
    assert (source.domain, source.density, source.graph, source.steps, source.episodes) == (None,) * 5


def test_rows_keep_the_digits_they_were_given_with():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_array_equal(ex.Arrays(rows).rows, rows)
    gram = np.exp(-((rows[:, None] - rows) ** 2).sum(-1)) / 50
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    modes = ex.solve(kernel, rows.tolist(), 2, which="largest", progress=False)
    exact = np.linalg.eigvalsh(gram)[::-1][:2]
    assert (np.abs(modes.eigenvalues - exact) <= 3 * modes.standard_errors).all()


@pytest.mark.parametrize(
    "source",
    [
        lambda rows: ex.Arrays(rows),
        lambda rows: ex.TimeSeries(rows),
        lambda rows: ex.Transitions(rows[:-1], rows[1:]),
        lambda rows: ex.Graph([(k, k + 1) for k in range(len(rows) - 1)], rows),
    ],
    ids=["arrays", "clips", "steps", "transitions"],
)
def test_other_data_of_the_same_shape_compile_nothing(source):
    traced = []

    @eqx.filter_jit
    def drawn(source):
        traced.append(source)
        return source.sample(jax.random.key(0), 4).x

    first, second = (np.random.default_rng(seed).normal(size=(30, 2)) for seed in (0, 1))
    assert (drawn(source(first)) != drawn(source(second))).any()
    assert len(traced) == 1


def test_data_outlive_a_pickle():
    source = pickle.loads(pickle.dumps(ex.Arrays(np.arange(6.0).reshape(3, 2))))
    np.testing.assert_array_equal(source.rows, np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize(
    "given",
    [
        lambda rows: ex.TimeSeries([rows, rows]),
        lambda rows: ex.Transitions(rows[:-1], rows[1:]),
        lambda rows: ex.solve(ex.Slowness(), rows, 2),
    ],
    ids=["clips", "steps", "solve"],
)
def test_sparse_rows_are_refused_with_what_to_do(given):
    with pytest.raises(ValueError, match=r"must be dense; got a sparse matrix.*toarray\(\)"):
        given(scipy.sparse.random(30, 4, 0.3, format="csr"))

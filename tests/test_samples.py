"""Fresh samples: means over batches, evenly spread or independent, in either precision."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.random_streams import Stream
from eigenax.samples import FreshSamples

BOX, SEEDS = ex.Uniform(ex.Box(-1.0, 2.0, dims=2)), range(5)
EXACT = np.array([1.0, 0.5, 1.0, 0.25, np.pi / 36])
"""The means of `functions` over the box."""


def functions(batch):
    """The means of 1, x₁, x₂², x₁ x₂ and of a disc of radius ½, in two parts."""
    x, w = batch.x, batch.weights
    inside = jnp.sum((x - 0.3) ** 2, 1) < 0.25
    return (
        jnp.stack([w.mean(), (w * x[:, 0]).mean()]),
        jnp.stack([(w * x[:, 1] ** 2).mean(), (w * x[:, 0] * x[:, 1]).mean(), (w * inside).mean()]),
    )


def fresh(samples=2**12, seed=0, purpose=Stream.MEASURING, **options):
    return FreshSamples(options.pop("source", BOX), seed, purpose, samples, **options)


@cache
def mean(**options):
    return np.concatenate(fresh(**options).mean(functions))


@cache
def batches(**options):
    return np.concatenate(fresh(**options).map(functions), axis=1)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_means_are_those_of_the_batches(precision):
    rounding = 1e-6 if precision == "float32" else 1e-13
    np.testing.assert_allclose(mean(precision=precision), batches(precision=precision).mean(0), rtol=rounding)
    together, apart = mean(evenly=True, precision=precision), batches(evenly=True, precision=precision)
    error = apart.std(0, ddof=1) / np.sqrt(len(apart))
    assert (np.abs(together - apart.mean(0)) < 5 * error + rounding).all()


@pytest.mark.parametrize("evenly", [False, True])
def test_the_scatter_between_batches_is_an_error_not_too_small(evenly):
    scores = []
    for seed in SEEDS:
        values = batches(seed=seed, evenly=evenly, precision="float64")
        errors = values.std(0, ddof=1) / np.sqrt(len(values))
        scores.append((values.mean(0) - EXACT)[1:] / errors[1:])
        np.testing.assert_allclose(values[:, 0], 1)
    assert np.abs(scores).max() < 4.5
    assert np.sqrt(np.mean(np.square(scores))) < 1.7
    if not evenly:
        assert np.sqrt(np.mean(np.square(scores))) > 0.5


def test_even_samples_are_closer_than_independent_ones_where_functions_are_smooth():
    def error(means):
        return np.sqrt(np.mean(np.square(np.asarray(means) - EXACT), 0))

    by_chance = error([batches(seed=seed, evenly=False, precision="float64").mean(0) for seed in SEEDS])
    even = error([mean(seed=seed, evenly=True, precision="float64") for seed in SEEDS])
    assert (even[1:-1] < by_chance[1:-1] / 4).all()
    assert even[-1] < by_chance[-1]


@pytest.mark.parametrize("evenly", [False, True])
def test_the_same_seed_and_purpose_give_the_same_samples_and_others_others(evenly):
    first, again = mean(evenly=evenly), np.concatenate(fresh(evenly=evenly).mean(functions))
    np.testing.assert_array_equal(first, again)
    for other in (mean(evenly=evenly, seed=1), mean(evenly=evenly, purpose=Stream.SIGNS)):
        assert (other[1:] != first[1:]).all()


@pytest.mark.parametrize(("precision", "dtype"), [("float32", jnp.float32), ("float64", jnp.float64)])
def test_batches_have_the_precision_asked_for_and_results_are_double(precision, dtype):
    seen = set()

    def look(batch):
        seen.add((batch.x.dtype, batch.weights.dtype))
        return (batch.x.sum(0),)

    for part in (*fresh(precision=precision).map(look), *fresh(precision=precision, evenly=True).mean(look)):
        assert part.dtype == np.float64
    assert seen == {(jnp.dtype(dtype), jnp.dtype(dtype))}
    assert jnp.zeros(()).dtype == jnp.float32


@pytest.mark.parametrize(
    ("samples", "evenly", "count", "size"),
    [
        (2**12, False, 64, 64),
        (2**12, True, 16, 256),
        (2**15, True, 16, 512),
        (100, False, 64, 4),
        (100, True, 16, 6),
        (3, True, 16, 4),
    ],
)
def test_batches_are_many_enough_for_a_scatter_and_small_enough_for_memory(samples, evenly, count, size):
    sizes = fresh(samples=samples, evenly=evenly).map(lambda batch: (jnp.full(1, len(batch.x)),))[0]
    np.testing.assert_array_equal(sizes, np.full((count, 1), size))


def test_the_scatter_of_even_batches_falls_faster_than_that_of_independent_ones():
    """Four times the points, also where a batch is taken in several pieces."""
    many, few = (batches(samples=samples, evenly=True, precision="float64") for samples in (2**14, 2**12))
    assert many.shape == few.shape == (16, 5)
    assert (many.std(0) < few.std(0) / 2.5)[1:-1].all()


@pytest.mark.parametrize("evenly", [False, True])
def test_data_is_drawn_without_becoming_a_constant_of_the_program(evenly):
    rows = jnp.arange(40.0).reshape(20, 2)
    options = {"source": ex.Arrays(rows), "evenly": evenly}
    seen = []

    def look(batch):
        seen.append(batch)
        return (batch.x.mean(0),)

    (values,) = fresh(**options).map(look)
    assert len(seen) == 1
    error = np.asarray(rows).std(0) / np.sqrt(4096)
    np.testing.assert_allclose(values.mean(0), rows.mean(0), atol=4.5 * error.max())


def test_pairs_are_served_too():
    series = jnp.arange(60.0).reshape(30, 2)
    (steps,) = fresh(source=ex.TimeSeries(series, length=4)).mean(
        lambda batch: ((batch.x[batch.second] - batch.x[batch.first]).mean(0),)
    )
    np.testing.assert_allclose(steps, [2, 2])

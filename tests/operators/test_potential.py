"""Multiplication by a function of position."""

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
BATCH = ex.Points(jnp.asarray(X), jnp.ones(5))


def unused(x):
    raise AssertionError("the values of u are enough")


def test_multiplies_every_function_by_its_value_at_the_point():
    u = np.random.default_rng(1).normal(size=(5, 2)).astype(np.float32)
    got = ex.Potential(lambda x: jnp.sum(x**2)).apply(unused, BATCH, jnp.asarray(u))
    np.testing.assert_allclose(got, (X**2).sum(1, keepdims=True) * u, rtol=1e-5)


def test_both_estimates_are_the_exact_value():
    u = jnp.asarray(X[:, :2])
    potential = ex.Potential(lambda x: x[0])
    first, second, weights = potential.twice(unused, BATCH._replace(weights=jnp.arange(5.0)), u)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, X[:, :1] * X[:, :2], rtol=1e-6)
    np.testing.assert_array_equal(weights, np.arange(5.0))


def test_says_nothing_about_edges_or_constants():
    potential = ex.Potential(lambda x: jnp.sum(x))
    assert not potential.wants_boundary
    assert not potential.fixes_constants


def test_passes_its_check_when_finite():
    ex.Potential(lambda x: jnp.sum(x**2)).check(BATCH)


@pytest.mark.parametrize(
    ("function", "shape"), [(lambda x: x**2, r"\(3,\)"), (lambda x: jnp.sum(x, keepdims=True), r"\(1,\)")]
)
def test_a_wrong_shape_is_named(function, shape):
    with pytest.raises(ValueError, match=rf"point of shape \(3,\).*returned shape {shape}"):
        ex.Potential(function).check(BATCH)


@pytest.mark.parametrize(("value", "name"), [(jnp.nan, "nan"), (jnp.inf, "inf"), (-jnp.inf, "-inf")])
def test_a_value_that_is_not_finite_is_named_with_its_place(value, name):
    bad = BATCH._replace(x=BATCH.x.at[3].set(jnp.array([1.5, 2.0, -7.0])))
    with pytest.raises(ValueError, match=rf"returned {name} at x = \[ ?1.5, *2. *, *-7. *\]"):
        ex.Potential(lambda x: jnp.where(x[2] == -7.0, value, 1.0)).check(bad)

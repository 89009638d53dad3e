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
    first, second, weights = potential.independent_estimates(unused, BATCH._replace(weights=jnp.arange(5.0)), u)
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
    with pytest.raises(ValueError, match=rf"one point x of shape \(3,\).*returned shape {shape}"):
        ex.Potential(function).check(BATCH)


@pytest.mark.parametrize(("value", "name"), [(jnp.nan, "nan"), (jnp.inf, "inf"), (-jnp.inf, "-inf")])
def test_a_value_that_is_not_finite_is_named_with_its_place(value, name):
    bad = BATCH._replace(x=BATCH.x.at[3].set(jnp.array([1.5, 2.0, -7.0])))
    with pytest.raises(ValueError, match=rf"returned {name} at x = \[ ?1.5, *2. *, *-7. *\]"):
        ex.Potential(lambda x: jnp.where(x[2] == -7.0, value, 1.0)).check(bad)


ATOM = ex.Potential(lambda x: -1 / jnp.linalg.norm(x), singularities=[(0.0, 0.0, 0.0)])


@pytest.mark.usefixtures("as_user")
def test_singularities_are_points_of_numbers_of_any_type():
    assert ex.Potential(jnp.sum).singularities() == ()
    assert ATOM.singularities() == ((0.0, 0.0, 0.0),)
    expected = ((1.0, 2.0), (0.0, -1.5))
    for given in (expected, [[1, 2], [0, -1.5]], np.array(expected), jnp.asarray(expected)):
        potential = ex.Potential(jnp.sum, singularities=given)
        assert potential.singularities() == expected
        assert all(type(value) is float for point in potential.singularities() for value in point)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("singularities", [(0.0, 0.0), 0.0, [None], [[None, 1.0]]])
def test_what_is_no_list_of_points_is_refused(singularities):
    with pytest.raises(ValueError, match="singularities must be a list of points, one sequence of numbers each; got"):
        ex.Potential(jnp.sum, singularities=singularities)


@pytest.mark.parametrize(
    "point", [(0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (), (0.0, float("nan"), 0.0), (float("inf"), 0.0, 0.0)]
)
def test_singularities_must_be_finite_points_of_the_source(point):
    potential = ex.Potential(lambda x: jnp.sum(x**2), singularities=[(1.0, 2.0, 3.0), point])
    with pytest.raises(ValueError, match=r"finite points of shape \(3,\), as the source draws them; got \("):
        potential.check(BATCH)


def test_singularities_change_nothing_about_the_values():
    ATOM.check(BATCH)
    u = jnp.asarray(X[:, :2])
    np.testing.assert_allclose(ATOM.apply(unused, BATCH, u), -u / jnp.linalg.norm(X, axis=1)[:, None], rtol=1e-5)


def test_potentials_of_the_same_function_are_equal_so_that_nothing_is_compiled_twice():
    again = ex.Potential(ATOM.function, singularities=[[0, 0, 0]])
    assert again == ATOM
    assert hash(again) == hash(ATOM)
    assert again != ex.Potential(ATOM.function)

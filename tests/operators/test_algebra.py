"""Operators add, subtract and scale; strangers are refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 4, 4)).astype(np.float32)
U = RNG.normal(size=(4, 2)).astype(np.float32)
X = jnp.asarray(RNG.normal(size=(6, 2)), jnp.float32)
ALL_STATES = ex.Points(jnp.eye(4), jnp.ones(4))


def unused(x):
    raise AssertionError("the values of u are enough")


class Matrix(ex.Operator):
    """K u = M u, for batches that hold every state once."""

    matrix: jax.Array

    def apply(self, function, batch, u):
        return self.matrix @ u


a, b = Matrix(jnp.asarray(A)), Matrix(jnp.asarray(B))


@pytest.mark.parametrize(
    ("operator", "matrix"),
    [
        (-a + 2 * b / 3, -A + 2 * B / 3),
        (a - b, A - B),
        (a - (b - a), 2 * A - B),
        (-(a + b) * 0.5, -(A + B) / 2),
        (3 * (a / 2 - 2 * b), 1.5 * A - 6 * B),
        (a + a + a, 3 * A),
        (0 * a + b, B),
        (a * np.float64(2.0) - np.float32(0.5) * b, 2 * A - B / 2),
    ],
)
def test_combinations_are_those_of_the_matrices(operator, matrix):
    np.testing.assert_allclose(operator.apply(unused, ALL_STATES, jnp.asarray(U)), matrix @ U, rtol=2e-5, atol=2e-6)


def test_combinations_do_not_change_their_parts():
    before = a + b
    _ = -before, before + a, before / 7
    np.testing.assert_allclose(before.apply(unused, ALL_STATES, jnp.asarray(U)), (A + B) @ U, rtol=2e-5, atol=2e-6)


def test_minus_laplacian_plus_potential_is_a_schroedinger_operator():
    energy = -ex.Laplacian() + 2 * ex.Potential(lambda x: jnp.sum(x**2)) / 2
    u = jax.vmap(gaussian)(X)
    got = energy.apply(gaussian, ex.Points(X, jnp.ones(6)), u)
    np.testing.assert_allclose(got, 2 * u, rtol=1e-4)


def gaussian(x):
    """The ground state of −∇² + r², of energy 2 in the plane."""
    return jnp.exp(-jnp.sum(x**2) / 2)[None]


def test_local_combinations_know_themselves_exactly_twice():
    first, second, weights = (2 * a - b).independent_estimates(unused, ALL_STATES, jnp.asarray(U))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, (2 * A - B) @ U, rtol=2e-5, atol=2e-6)
    np.testing.assert_array_equal(weights, np.ones(4))


def test_combinations_of_estimates_keep_the_two_apart():
    kernel, potential = ex.Kernel(lambda x, y: x @ y + 1.0), ex.Potential(lambda x: x[0] + 2.0)

    @jax.jit
    def all_three(batch):
        combined = (3 * kernel - potential / 2).independent_estimates(unused, batch, X)
        return combined, kernel.independent_estimates(unused, batch, X), potential.apply(unused, batch, X)

    combined, parts, local = all_three(ex.Points(X, jnp.ones(6)))
    np.testing.assert_allclose(combined.first, 3 * parts.first - local / 2, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(combined.second, 3 * parts.second - local / 2, rtol=1e-5, atol=1e-6)
    assert np.abs(combined.first - combined.second).max() > 0.1


def test_combinations_want_what_any_part_wants_and_fix_what_all_fix():
    slowness, laplacian, potential = ex.Slowness(), ex.Laplacian(), ex.Potential(jnp.sum)
    assert (potential - laplacian).wants_boundary
    assert not (potential + potential).wants_boundary
    assert (2 * slowness + slowness).fixes_constants
    assert not (potential - laplacian).fixes_constants
    assert (-slowness).acts_on is ex.Pairs
    assert (-potential).acts_on is ex.Points


def test_the_unbounded_side_follows_the_sign_of_the_laplacian():
    assert ex.Laplacian().unbounded == -1
    assert (-0.5 * ex.Laplacian() + ex.Potential(lambda x: x[0])).unbounded == 1
    assert (2 * ex.Laplacian() - ex.Laplacian()).unbounded == 0
    assert ex.Potential(lambda x: x[0]).unbounded == 0


def test_combinations_are_local_where_all_parts_are():
    potential, kernel = ex.Potential(jnp.sum), ex.Kernel(lambda x, y: x @ y)
    assert potential.local
    assert ex.Laplacian().local
    assert (-ex.Laplacian() / 2 + potential).local
    assert not kernel.local
    assert not ex.Slowness().local
    assert not (potential + kernel).local
    assert not (a + potential).local  # of an operator that does not say, nothing is known
    assert (2 * potential).local


def test_combinations_have_the_singularities_of_all_parts_once_each():
    one = ex.Potential(jnp.sum, singularities=[(0.0, 0.0), (1.0, 0.0)])
    other = ex.Potential(jnp.sum, singularities=[(1.0, 0.0), (0.0, 2.0)])
    assert (-ex.Laplacian() + one - 2 * other).singularities() == ((0.0, 0.0), (1.0, 0.0), (0.0, 2.0))
    assert (-one).singularities() == one.singularities()
    assert (-ex.Laplacian() + ex.Potential(jnp.sum)).singularities() == ()
    assert a.singularities() == ()


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_factors_must_be_finite(factor):
    with pytest.raises(ValueError, match="finite number"):
        factor * ex.Laplacian()


def test_checks_reach_every_part():
    batch = ex.Points(jnp.ones((3, 2)), jnp.ones(3))
    with pytest.raises(ValueError, match="Potential"):
        (-ex.Laplacian() + ex.Potential(lambda x: x)).check(batch)


def test_operators_on_different_samples_cannot_be_added_and_both_are_named():
    with pytest.raises(TypeError, match=r"Laplacian \(on Points\) and Slowness \(on Pairs\)"):
        ex.Laplacian() + ex.Slowness()
    with pytest.raises(TypeError, match=r"Slowness \(on Pairs\) and Laplacian \(on Points\)"):
        2 * ex.Slowness() - ex.Laplacian()


@pytest.mark.usefixtures("as_user")
def test_a_function_in_the_place_of_a_potential_is_told_what_to_be():
    with pytest.raises(TypeError, match=r"a function is not an operator: give Potential\(function\) in its place"):
        a + jnp.sum


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("stranger", ["potential", 1.0, None, [1.0], np.ones(2), jnp.ones(2)])
def test_strangers_are_neither_added_nor_subtracted(stranger):
    for act in (lambda: a + stranger, lambda: stranger + a, lambda: a - stranger, lambda: stranger - a):
        with pytest.raises(
            TypeError, match=r"unsupported|can only concatenate|not a valid JAX|does not support|not implemented"
        ):
            act()
    if not isinstance(stranger, np.ndarray | jax.Array):
        assert a.__add__(stranger) is NotImplemented
        assert a.__sub__(stranger) is NotImplemented


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("stranger", ["2", 1j, None, [2.0], jnp.float32(2.0), jnp.ones(2), b])
def test_only_plain_numbers_scale(stranger):
    for act in (lambda: a * stranger, lambda: stranger * a, lambda: a / stranger):
        with pytest.raises(TypeError, match=r"unsupported|can't multiply sequence|not a valid JAX"):
            act()
    assert a.__mul__(stranger) is NotImplemented
    assert a.__truediv__(stranger) is NotImplemented


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("act", [lambda: np.ones(2) * a, lambda: a * np.ones(2), lambda: a / np.ones(2)])
def test_numpy_arrays_do_not_scale_either(act):
    with pytest.raises(TypeError):
        act()


def test_nothing_is_divided_by_an_operator_or_by_zero():
    with pytest.raises(TypeError, match="unsupported"):
        2 / a
    with pytest.raises(ZeroDivisionError):
        a / 0

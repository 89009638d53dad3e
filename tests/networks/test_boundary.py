"""The factor that vanishes on the faces of a box."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex

BOXES = [([-2.0], [2.0]), ([-1.0, 3.0], [4.0, 5.0]), ([0.0, -50.0, 1.0], [0.5, 50.0, 9.0])]


def factor(low, high, x):
    return np.asarray(jax.jit(jax.vmap(ex.BoxFactor(low, high)))(jnp.asarray(x)))


def inside(low, high, count=200):
    return np.random.default_rng(0).uniform(low, high, (count, len(low)))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("low", "high"), BOXES)
def test_zero_on_every_face_and_one_in_the_middle(low, high):
    for axis, bound in itertools.product(range(len(low)), (low, high)):
        x = inside(low, high)
        x[:, axis] = bound[axis]
        np.testing.assert_allclose(factor(low, high, x), 0, atol=1e-14)
    middle = (np.asarray(low) + np.asarray(high)) / 2
    np.testing.assert_allclose(factor(low, high, middle[None]), 1, rtol=1e-14)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("low", "high"), BOXES)
def test_is_the_papers_formula_but_for_one_constant(low, high):
    x, low, high = inside(low, high), np.asarray(low), np.asarray(high)
    half, y = (high - low) / 2, x - (high + low) / 2
    paper = (np.sqrt(2 * half**2 - y**2) - half).prod(1)
    got = factor(low.tolist(), high.tolist(), x)
    np.testing.assert_allclose(got * paper[0], paper * got[0], rtol=1e-9)
    assert ((got > 0) & (got <= 1)).all()


@pytest.mark.usefixtures("float64")
def test_leaves_each_face_with_the_slope_of_the_formula():
    slope = jax.grad(ex.BoxFactor(-2.0, 2.0))
    np.testing.assert_allclose(slope(jnp.asarray([-2.0])), [1 / (np.sqrt(2) - 1) / 2], rtol=1e-12)
    np.testing.assert_allclose(slope(jnp.asarray([2.0])), [-1 / (np.sqrt(2) - 1) / 2], rtol=1e-12)


def test_one_bound_serves_all_axes():
    x = jnp.asarray([0.3, -1.2, 1.9])
    np.testing.assert_allclose(ex.BoxFactor(-2.0, 2.0)(x), ex.BoxFactor([-2.0] * 3, [2.0] * 3)(x), rtol=1e-6)


def test_a_bounded_network_is_the_factor_times_the_network():
    factor, network = ex.BoxFactor([0.0, 0.0], [1.0, 3.0]), ex.MLP(2, 4, width=24, key=jax.random.key(0))
    bounded, x = ex.Bounded(factor, network), jnp.asarray([0.2, 1.0])
    np.testing.assert_allclose(bounded(x), factor(x) * network(x), rtol=1e-6)
    assert not bounded.separate
    assert ex.Bounded(factor, ex.Separate(2, 3, width=5, key=jax.random.key(0))).separate

"""Slowness against sums over pairs and against a Markov chain's transition matrix."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.batch import pairs_of
from eigenax.core.rayleigh import second_moment


def values(x):
    """Two functions of a point (d,)."""
    return jnp.stack([jnp.sin(x[0]) + x[-1], jnp.exp(-(x[0] ** 2))])


@jax.jit
def apply(batch, u):
    return ex.Slowness().apply(values, batch, u)


@jax.jit
def independent_estimates(batch, u):
    return ex.Slowness().independent_estimates(values, batch, u)


def dense_moments(batch):
    """E[(u(x) − u(x'))(u(x) − u(x'))ᵀ], and E[u uᵀ] over both points of the pairs, by loops in double precision."""
    u = np.asarray(jax.vmap(values)(batch.x), np.float64)
    sigma, pi = np.zeros((2, 2)), np.zeros((2, 2))
    for i, j, weight in zip(*(np.asarray(part) for part in batch[1:4]), strict=True):
        sigma += weight * (np.outer(u[i], u[i]) + np.outer(u[j], u[j])) / 2
        pi += weight * np.outer(u[i] - u[j], u[i] - u[j])
    return sigma / len(batch.first), pi / len(batch.first)


def batches():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(9, 2)), jnp.float32)
    first, second = jnp.asarray([0, 1, 2, 0, 5, 5, 5, 3]), jnp.asarray([1, 2, 0, 5, 4, 6, 6, 7])
    weights = jnp.asarray(rng.uniform(0.2, 3, 8), jnp.float32)
    series = jnp.asarray(rng.normal(size=(50, 2)), jnp.float32)
    return {
        "separate pairs": pairs_of(x[:4], x[4:8]),
        "clips": ex.TimeSeries(series, length=6).sample(jax.random.key(0), 5),
        "a graph": ex.Pairs(x, first, second, jnp.ones(8)),
        "a weighted graph with a lonely point": ex.Pairs(x, first, second, weights),
    }


@pytest.mark.parametrize("name", batches())
def test_moments_are_those_of_the_pairs(name):
    batch = batches()[name]

    @jax.jit
    def moments(batch):
        u = jax.vmap(values)(batch.x)
        ku = ex.Slowness().apply(values, batch, u)
        return second_moment(u, u, batch.weights), second_moment(u, ku, batch.weights)

    for got, expected in zip(moments(batch), dense_moments(batch), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_points_without_partners_have_no_weight_and_no_slowness():
    batch = batches()["a weighted graph with a lonely point"]
    assert batch.weights[8] == 0
    assert (batch.weights[:8] > 0).all()
    first, second, _ = independent_estimates(batch, batch.x)
    for ku in (first, second, apply(batch, batch.x)):
        np.testing.assert_array_equal(ku[8], 0)


def test_constants_are_infinitely_slow():
    batch = batches()["a weighted graph with a lonely point"]
    np.testing.assert_array_equal(apply(batch, jnp.ones((9, 2))), 0)
    assert ex.Slowness().fixes_constants


def test_acts_on_pairs():
    assert ex.Slowness().acts_on is ex.Pairs
    assert not ex.Slowness().wants_boundary


# A random walk on a graph with unequal edges and loops, reversible: P = D⁻¹ C with C symmetric.
STATES, CHAINS, LENGTH = 5, 2000, 60
RNG = np.random.default_rng(2)
CONDUCTANCE = RNG.uniform(0.1, 2, (STATES, STATES))
CONDUCTANCE += CONDUCTANCE.T
PROBABILITY = CONDUCTANCE.sum(1) / CONDUCTANCE.sum()
TRANSITION = CONDUCTANCE / CONDUCTANCE.sum(1, keepdims=True)
DENSE = 2 * (np.eye(STATES) - TRANSITION)
TABLE = RNG.normal(size=(STATES, 2))


def on_states(x):
    """Two functions of a point, which is the number of its state."""
    return jnp.asarray(TABLE, jnp.float32)[x[0].astype(int)]


@cache
def chains():
    """Stationary chains, each a batch of its own."""
    rng = np.random.default_rng(1)
    states = np.zeros((CHAINS, LENGTH), int)
    states[:, 0] = rng.choice(STATES, CHAINS, p=PROBABILITY)
    for time in range(1, LENGTH):
        uniform = rng.uniform(size=(CHAINS, 1))
        states[:, time] = (uniform > TRANSITION[states[:, time - 1]].cumsum(1)).sum(1).clip(max=STATES - 1)
    index = jnp.broadcast_to(jnp.arange(LENGTH), (CHAINS, LENGTH))
    x = jnp.asarray(states[..., None], jnp.float32)
    return ex.Pairs(x, index[:, :-1], index[:, 1:], jnp.ones((CHAINS, LENGTH - 1)))


def over_chains(function):
    results = np.asarray(jax.jit(jax.vmap(lambda b: function(b, jax.vmap(on_states)(b.x))))(chains()), np.float64)
    return results.mean(0), results.std(0, ddof=1) / np.sqrt(CHAINS)


def test_quotients_of_a_markov_chain_are_dense():
    def moments(b, u):
        return jnp.stack(
            [second_moment(u, u, b.weights), second_moment(u, ex.Slowness().apply(values, b, u), b.weights)]
        )

    mean, error = over_chains(moments)
    weighted = PROBABILITY[:, None] * TABLE
    exact = np.stack([weighted.T @ TABLE, weighted.T @ DENSE @ TABLE])
    assert (np.abs(mean - exact) < 4.5 * error + 1e-12).all()
    assert error.max() < 0.02 * np.abs(exact).max()


@pytest.mark.parametrize("value", [0.0, 1.3])
def test_successor_and_predecessor_give_an_unbiased_residual_where_one_squared_is_too_large(value):
    def squares(b, u):
        first, second, weights = ex.Slowness().independent_estimates(on_states, b, u)
        product = weights[:, None] * (first - value * u) * (second - value * u)
        single = b.weights[:, None] * (ex.Slowness().apply(on_states, b, u) - value * u) ** 2
        return jnp.stack([product.sum(0) / weights.sum(), single.mean(0)])

    residual = DENSE @ TABLE - value * TABLE
    exact = PROBABILITY @ residual**2
    mean, error = over_chains(squares)
    assert (np.abs(mean[0] - exact) < 4.5 * error[0]).all(), (mean, exact, error)
    assert (error[0] < 0.05 * exact).all()
    assert (mean[1] - exact > 10 * error[1]).all()


def test_successor_and_predecessor_each_estimate_the_dense_operator_at_every_state():
    def by_state(b, u):
        first, second, weights = ex.Slowness().independent_estimates(on_states, b, u)
        here = jax.nn.one_hot(b.x[:, 0].astype(int), STATES) * weights[:, None]
        return jnp.stack([here.T @ first, here.T @ second]) / weights.sum()

    mean, error = over_chains(by_state)
    exact = PROBABILITY[:, None] * (DENSE @ TABLE)
    assert (np.abs(mean - exact) < 4.5 * error).all()


def test_the_ends_of_a_chain_have_one_neighbour_and_no_second_estimate():
    series = jnp.asarray([[0.0], [1.0], [3.0], [7.0]])
    index = jnp.arange(4)
    batch = ex.Pairs(series, index[:-1], index[1:], jnp.ones(3))
    first, second, weights = independent_estimates(batch, series)
    np.testing.assert_array_equal(weights > 0, [False, True, True, False])
    np.testing.assert_allclose(first[1:3, 0], [2 * (1 - 3), 2 * (3 - 7)], rtol=1e-6)
    np.testing.assert_allclose(second[1:3, 0], [2 * (1 - 0), 2 * (3 - 1)], rtol=1e-6)
    assert np.isfinite([first, second]).all()


def test_several_successors_count_by_the_weight_of_their_pairs():
    x = jnp.asarray([[1.0], [2.0], [4.0], [8.0]])
    pair_weights = jnp.asarray([0.5, 1.0, 3.0])
    batch = ex.Pairs(x, jnp.asarray([0, 1, 1]), jnp.asarray([1, 2, 3]), pair_weights)
    first, second, weights = independent_estimates(batch, x)
    np.testing.assert_allclose(first[1, 0], 2 * (2 - (1.0 * 4 + 3.0 * 8) / 4), rtol=1e-6)
    np.testing.assert_allclose(second[1, 0], 2 * (2 - 1), rtol=1e-6)
    np.testing.assert_allclose(weights, [0, (0.5 + 1 + 3) / 2 * 4 / 3, 0, 0], rtol=1e-6)

"""The masked gradient against automatic differentiation, and the paper's two claims on dense matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from eigenax.core.rayleigh import (
    masked_gradient,
    masked_gradient_of_moments,
    quotient,
    residual,
    residual_norms,
    second_moment,
)

pytestmark = pytest.mark.usefixtures("float64")


def dense_problem(seed, samples, functions):
    """Functions on `samples` states with weights w, and a K that is symmetric under them: W K = (W K)ᵀ."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.5, samples)
    symmetric = rng.normal(size=(samples, samples))
    k = (symmetric + symmetric.T) / weights[:, None]
    return jnp.asarray(rng.normal(size=(samples, functions))), jnp.asarray(k), jnp.asarray(weights)


def rayleigh(u, k, weights):
    return quotient(second_moment(u, u, weights), second_moment(u, k @ u, weights))


@jax.jit
def closed_and_automatic(u, k, weights):
    automatic = jax.jacrev(lambda u: jnp.diag(rayleigh(u, k, weights).matrix))(u)
    return masked_gradient(u, k @ u, weights, rayleigh(u, k, weights)), automatic


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31), st.sampled_from([1, 2, 6]), st.sampled_from([0, 12]), st.floats(-3, 3))
def test_masked_gradient_is_the_derivative_of_each_quotient_by_its_own_function(seed, functions, extra, spread):
    u, k, weights = dense_problem(seed, functions + 1 + extra, functions)
    u = u * 10.0 ** jnp.linspace(0, spread, functions)
    closed, jacobian = closed_and_automatic(u, k, weights)
    for j in range(functions):
        automatic = jacobian[j, :, j]
        np.testing.assert_allclose(
            closed[:, j], automatic, rtol=1e-7, atol=1e-9 * float(jnp.abs(automatic).max() + 1e-12)
        )


def test_gradient_through_the_moments_is_the_same():
    u, k, weights = dense_problem(1, 12, 5)
    of = rayleigh(u, k, weights)
    by_sigma, by_pi = masked_gradient_of_moments(of)
    through_moments = 2 * weights[:, None] * (k @ u @ by_pi + u @ by_sigma) / len(u)
    np.testing.assert_allclose(through_moments, masked_gradient(u, k @ u, weights, of), rtol=1e-10)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31), st.integers(2, 6), st.integers(1, 5))
def test_claim_1_the_leading_block_ignores_later_functions(seed, functions, leading):
    leading = min(leading, functions - 1)
    u, k, weights = dense_problem(seed, functions + 8, functions)
    other = u.at[:, leading:].set(dense_problem(seed + 1, functions + 8, functions)[0][:, leading:])
    block = slice(0, leading)
    np.testing.assert_allclose(
        rayleigh(u, k, weights).matrix[block, block],
        rayleigh(other, k, weights).matrix[block, block],
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "spectrum", [[-2.0, -1.0, 0.5, 1.0, 3.0], [1.0, 1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 1.0, 1.0]]
)
def test_claim_2_descent_along_the_masked_gradient_ends_at_the_ordered_eigenvectors(spectrum):
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    k = jnp.asarray(basis @ np.diag(spectrum) @ basis.T)
    weights = jnp.ones(5)

    def descend(u, _):
        of = rayleigh(u, k, weights)
        v, r = residual(u, k @ u, of)
        return v - 0.2 * r, jnp.abs(r).max()

    u, residuals = jax.lax.scan(descend, jnp.asarray(rng.normal(size=(5, 3))), length=2000)
    of = rayleigh(u, k, weights)
    v, _ = residual(u, k @ u, of)
    assert residuals[-1] < 1e-10
    np.testing.assert_allclose(jnp.diag(of.matrix), spectrum[:3], atol=1e-9)
    np.testing.assert_allclose(k @ v, v * jnp.asarray(spectrum[:3]), atol=1e-8)
    np.testing.assert_allclose(v.T @ v / 5, np.eye(3), atol=1e-9)


def test_where_the_gradient_vanishes_there_are_eigenvectors_and_nowhere_else():
    u, k, weights = dense_problem(3, 8, 3)
    _, vectors = np.linalg.eigh(np.asarray(jnp.sqrt(weights)[:, None] * k / jnp.sqrt(weights)))
    eigenvectors = jnp.asarray(vectors[:, :3] / np.sqrt(weights)[:, None])
    at_solution = masked_gradient(eigenvectors, k @ eigenvectors, weights, rayleigh(eigenvectors, k, weights))
    elsewhere = masked_gradient(u, k @ u, weights, rayleigh(u, k, weights))
    assert jnp.abs(at_solution).max() < 1e-12
    assert jnp.abs(elsewhere).max() > 1e-3


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31), st.integers(1, 6))
def test_lower_triangular_mixing_changes_nothing(seed, functions):
    u, k, weights = dense_problem(seed, functions + 8, functions)
    rng = np.random.default_rng(seed)
    mixing = np.tril(rng.normal(size=(functions, functions)), -1) + np.diag(rng.uniform(0.5, 2, functions))
    mixed = u @ mixing.T
    first, second = rayleigh(u, k, weights), rayleigh(mixed, k, weights)
    np.testing.assert_allclose(first.matrix, second.matrix, rtol=1e-7, atol=1e-8)
    for a, b in zip(residual(u, k @ u, first), residual(mixed, k @ mixed, second), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_a_singular_covariance_is_not_finite_rather_than_wrong():
    u = jnp.ones((6, 2))
    assert not jnp.isfinite(quotient(second_moment(u, u, jnp.ones(6)) * 0.0, jnp.eye(2)).matrix).all()


def test_residual_norms_are_those_of_the_weighted_residuals_and_zero_for_eigenvectors():
    u, k, weights = dense_problem(3, 8, 3)
    of = rayleigh(u, k, weights)
    _, r = residual(u, k @ u, of)
    norms = residual_norms(u, k @ u, weights, of)
    np.testing.assert_allclose(norms, np.sqrt((np.asarray(weights)[:, None] * np.asarray(r) ** 2).sum(0) / 8))
    assert (norms > 0.1).all()
    _, vectors = np.linalg.eigh(np.asarray(jnp.sqrt(weights)[:, None] * k / jnp.sqrt(weights)))
    v = jnp.asarray(vectors[:, :3] / np.sqrt(weights)[:, None])
    np.testing.assert_allclose(residual_norms(v, k @ v, weights, rayleigh(v, k, weights)), 0, atol=1e-12)

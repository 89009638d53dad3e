"""The matrices of the Rayleigh–Gauss–Newton step against their definition, tangent by tangent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.core import tangent as module
from eigenax.core.tangent import span_of, tangent

pytestmark = pytest.mark.usefixtures("float64")
POINTS, FUNCTIONS, PARAMETERS = 24, 3, 7


def problem(seed=0):
    """Functions u(x; θ) with some K u, at weighted points."""
    rng = np.random.default_rng(seed)
    mix = jnp.asarray(rng.normal(size=(2 * FUNCTIONS, PARAMETERS)))
    x, weights = jnp.asarray(rng.normal(size=(POINTS, 2))), jnp.asarray(rng.uniform(0.5, 1.5, POINTS))
    theta = jnp.asarray(rng.normal(size=PARAMETERS))

    def u_and_ku(theta, x):
        return jnp.sin(mix * theta + x[0]).sum(1) + jnp.cos(mix * x[1]) @ theta

    return u_and_ku, theta, x, weights


def by_definition(u_and_ku, theta, x, weights, span):
    """S, H and g with every projected tangent written out."""
    rows = jax.vmap(jax.jacrev(u_and_ku), (None, 0))(theta, x)
    j, kj = (jnp.einsum("ki,bip->bkp", span.matrix, part) for part in jnp.split(rows, 2, axis=1))
    inside = jnp.einsum("b,bi,bkp->ikp", weights, span.v, j) / POINTS
    outside = j - jnp.einsum("bi,ikp->bkp", span.v, inside)
    k_outside = kj - jnp.einsum("bi,ikp->bkp", span.kv, inside)
    shifted = k_outside - span.values[:, None] * outside
    s = jnp.einsum("b,bkp,bkq->pq", weights, outside, outside) / POINTS
    h = jnp.einsum("b,bkp,bkq->pq", weights, outside, shifted) / POINTS
    return s, (h + h.T) / 2, jnp.einsum("b,bkp,bk->p", weights, outside, span.residual) / POINTS


@pytest.mark.parametrize("piece", [2**24, 2 * FUNCTIONS * PARAMETERS * 5])
def test_sums_over_pieces_are_those_of_all_projected_tangents(piece, monkeypatch):
    monkeypatch.setattr(module, "PIECE", piece)
    u_and_ku, theta, x, weights = problem()
    u, ku = jnp.split(jax.vmap(lambda x: u_and_ku(theta, x))(x), 2, axis=1)
    span = span_of(u, ku, weights)
    found = tangent(u_and_ku, theta, x, weights, span)
    for one, exact in zip(found, by_definition(u_and_ku, theta, x, weights, span), strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-9, atol=1e-9)


def test_functions_of_a_span_are_orthonormal_and_their_residuals_orthogonal_to_all_of_them():
    u_and_ku, theta, x, weights = problem(1)
    u, ku = jnp.split(jax.vmap(lambda x: u_and_ku(theta, x))(x), 2, axis=1)
    span = span_of(u, ku, weights)
    np.testing.assert_allclose(span.v.T @ (weights[:, None] * span.v) / POINTS, np.eye(FUNCTIONS), atol=1e-10)
    inside = span.v.T @ (weights[:, None] * span.residual) / POINTS
    np.testing.assert_allclose(inside, 0, atol=1e-10 * float(jnp.abs(span.kv).max()))


def test_where_k_u_is_in_the_span_residuals_vanish_and_values_do_not_scatter():
    """K u = u Λ at every point: the sampled Σ is far from the identity, and the values are exact to second order."""
    rng = np.random.default_rng(0)
    exact = jnp.asarray([1.0, 2.0, 4.0])
    u, weights = jnp.asarray(rng.normal(size=(400, 3))), jnp.ones(400)
    span = span_of(u, u * exact, weights)
    np.testing.assert_allclose(span.residual, 0, atol=1e-12)
    symmetrised = np.abs(np.diag(span.projected) - exact).max()
    assert np.abs(span.values - exact).max() < 0.2 * symmetrised

"""The Rayleigh quotient of several functions at once, and its masked gradient.

Letters as in the paper: b samples, k functions; u raw outputs, K u the operator applied to them,
Σ = E[w u uᵀ] = L Lᵀ, Π = E[w u (K u)ᵀ], Λ = L⁻¹ Π L⁻ᵀ and v = L⁻¹ u.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Inexact

HIGHEST = jax.lax.Precision.HIGHEST
ROUNDING = 10
"""Many random functions of one variable have a Σ that is singular in float32, although no two of them are equal."""


class Quotient(NamedTuple):
    """L and Λ: what whitening the functions takes, and their Rayleigh quotient once whitened."""

    cholesky: Float[Array, "k k"]
    matrix: Float[Array, "k k"]


class Moments(NamedTuple):
    """Σ = E[w u* uᵀ], Π = E[w u* (K u)ᵀ] and E[w (K u)* (K u)ᵀ] of functions u on some points."""

    sigma: Inexact[Array, "k k"]
    pi: Inexact[Array, "k k"]
    squared: Inexact[Array, "k k"] | None
    """None of an operator in its weak form, which has no K u."""


def second_moment(
    left: Inexact[Array, "b k"], right: Inexact[Array, "b k"], weights: Float[Array, " b"]
) -> Inexact[Array, "k k"]:
    """E[w left* rightᵀ]: Σ when both are u, Π when the right one is K u.

    >>> second_moment(jnp.ones((4, 1)), jnp.full((4, 1), 3.0), jnp.ones(4))
    Array([[3.]], dtype=float32)
    """
    return jnp.einsum("bi,bj->ij", jnp.conj(left) * weights[:, None], right, precision=HIGHEST) / left.shape[0]


def quotient(sigma: Float[Array, "k k"], pi: Float[Array, "k k"]) -> Quotient:
    """Λ = L⁻¹ Π L⁻ᵀ with Σ = L Lᵀ. Its leading block depends on the first functions alone (claim 1).

    Functions so alike that rounding cannot tell them apart are kept apart by a diagonal raised by `ROUNDING` units
    in the last place. A Σ that is not positive definite even so gives NaN, which the caller must look for.
    """
    raised = jnp.diag(sigma) * (1 + ROUNDING * jnp.finfo(sigma.dtype).eps)
    cholesky = jnp.linalg.cholesky(jnp.where(jnp.eye(len(sigma), dtype=bool), raised, sigma))
    half = solve_triangular(cholesky, pi, lower=True)
    return Quotient(cholesky, solve_triangular(cholesky, half.T, lower=True).T)


def whiten(cholesky: Float[Array, "k k"], u: Float[Array, "b k"]) -> Float[Array, "b k"]:
    """v = L⁻¹ u, sample by sample."""
    return solve_triangular(cholesky, u.T, lower=True).T


def residual(
    u: Float[Array, "b k"], ku: Float[Array, "b k"], of: Quotient
) -> tuple[Float[Array, "b k"], Float[Array, "b k"]]:
    """v and the residual K v_k − Σ_{i ≤ k} Λ_ik v_i, which is zero everywhere once v_k is an eigenfunction.

    Λ is used as it is, not symmetrised: Λ_ik = E[v_i K v_k] projects the very samples it came from.
    """
    v = whiten(of.cholesky, u)
    kv = whiten(of.cholesky, ku)
    return v, kv - jnp.matmul(v, jnp.triu(of.matrix), precision=HIGHEST)


def residual_norms(
    u: Float[Array, "b k"], ku: Float[Array, "b k"], weights: Float[Array, " b"], of: Quotient
) -> Float[Array, " k"]:
    """√E[w r²] of each residual, which includes the noise of K u where that is an estimate."""
    _, r = residual(u, ku, of)
    return jnp.sqrt(jnp.mean(weights[:, None] * r**2, 0))


def masked_gradient(
    u: Float[Array, "b k"], ku: Float[Array, "b k"], weights: Float[Array, " b"], of: Quotient
) -> Float[Array, "b k"]:
    """∂Λ_kk/∂u_k at each sample: the paper's masked gradient (its equation 14) times the factor 2 it drops.

    In closed form (2 w / L_kk) times the residual of the k-th whitened function, over the number of samples.
    """
    _, r = residual(u, ku, of)
    return 2 * weights[:, None] * r / jnp.diag(of.cholesky) / u.shape[0]


def masked_gradient_of_moments(of: Quotient) -> tuple[Float[Array, "k k"], Float[Array, "k k"]]:
    """The masked gradients with respect to Σ and Π: −L⁻ᵀ triu(Λ diag(L)⁻¹) and L⁻ᵀ diag(L)⁻¹."""
    inverse_diagonal = jnp.diag(1 / jnp.diag(of.cholesky))

    def solve(matrix):
        return solve_triangular(of.cholesky, matrix, lower=True, trans="T")

    return -solve(jnp.triu(of.matrix) @ inverse_diagonal), solve(inverse_diagonal)


def spectral_size(values: Float[Array, " k"]) -> Float[Array, " k"]:
    """A scale for the residual of each function: its Rayleigh quotient, or how far above the lowest that lies.

    The smaller of the two, so that a number added to the operator does not matter; with a floor, for eigenvalues near
    zero. From averages alone: a norm taken on the batch would go up and down with its residual.

    >>> spectral_size(jnp.array([1.0, 3.0]))
    Array([1.4, 2.4], dtype=float32)
    """
    above = jnp.sort(values - values.min())
    size = jnp.abs(values)
    if len(values) > 1:
        size = jnp.minimum(size, jnp.maximum(values - values.min(), above[1]))
    return size + 0.2 * size.max() + jnp.finfo(size.dtype).tiny

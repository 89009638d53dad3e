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
"""Units in the last place by which the diagonal of Σ is raised before its Cholesky factorisation.

The Σ of many random functions of one variable is singular in float32, although no two of them are equal.
"""


class Quotient(NamedTuple):
    """The Cholesky factor L, which whitens the functions, and Λ, the Rayleigh quotient of the whitened functions."""

    cholesky: Float[Array, "k k"]
    matrix: Float[Array, "k k"]


class Moments(NamedTuple):
    """Σ = E[w u* uᵀ], Π = E[w u* (K u)ᵀ] and E[w (K u)* (K u)ᵀ] of functions u on some points."""

    sigma: Inexact[Array, "k k"]
    pi: Inexact[Array, "k k"]
    squared: Inexact[Array, "k k"] | None
    """None for an operator in weak form, which has no K u."""


def second_moment(
    left: Inexact[Array, "b k"], right: Inexact[Array, "b k"], weights: Float[Array, " b"]
) -> Inexact[Array, "k k"]:
    """E[w left* rightᵀ]: Σ when both are u, Π when the right one is K u.

    >>> second_moment(jnp.ones((4, 1)), jnp.full((4, 1), 3.0), jnp.ones(4))
    Array([[3.]], dtype=float32)
    """
    return jnp.einsum("bi,bj->ij", jnp.conj(left) * weights[:, None], right, precision=HIGHEST) / left.shape[0]


def quotient(sigma: Float[Array, "k k"], pi: Float[Array, "k k"]) -> Quotient:
    """Λ = L⁻¹ Π L⁻ᵀ with Σ = L Lᵀ. Leading blocks of Λ depend on the first functions alone (claim 1).

    The diagonal of Σ is raised by `ROUNDING` units in the last place first, for functions so alike that rounding cannot
    tell them apart. If Σ is still not positive definite, the result is NaN, which the caller must check for.
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

    Λ is not symmetrised: with Λ_ik = E[v_i K v_k] of the same samples, the residual is orthogonal to each v_i, i ≤ k.
    """
    v = whiten(of.cholesky, u)
    kv = whiten(of.cholesky, ku)
    return v, kv - jnp.matmul(v, jnp.triu(of.matrix), precision=HIGHEST)


def residual_norms(
    u: Float[Array, "b k"], ku: Float[Array, "b k"], weights: Float[Array, " b"], of: Quotient
) -> Float[Array, " k"]:
    """√E[w r²] of each residual r. Where K u is an estimate, this includes its noise."""
    _, r = residual(u, ku, of)
    return jnp.sqrt(jnp.mean(weights[:, None] * r**2, 0))


def masked_gradient(
    u: Float[Array, "b k"], ku: Float[Array, "b k"], weights: Float[Array, " b"], of: Quotient
) -> Float[Array, "b k"]:
    """∂Λ_kk/∂u_k at each sample: the paper's masked gradient (its equation 14) times the factor 2 it drops.

    In closed form it is 2 w r_k / (b L_kk), where r_k is the residual of the k-th whitened function.
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
    """A scale for the residual of each function: |λ|, or the distance of λ from the lowest one if that is smaller.

    The distance makes a constant added to the operator matter little; for the lowest function, it is that of the second
    lowest. A floor is added for eigenvalues near zero. The scale comes from averaged Rayleigh quotients alone: a norm
    on the batch would rise and fall together with the residual on it.

    >>> spectral_size(jnp.array([1.0, 3.0]))
    Array([1.4, 2.4], dtype=float32)
    """
    above = jnp.sort(values - values.min())
    size = jnp.abs(values)
    if len(values) > 1:
        size = jnp.minimum(size, jnp.maximum(values - values.min(), above[1]))
    return size + 0.2 * size.max() + jnp.finfo(size.dtype).tiny

"""The Rayleigh–Gauss–Newton step: an implicit step of imaginary time, projected on what the parameters can do.

With v = M u orthonormal and Λ diagonal on the batch, the residuals are r_k = K v_k − Σ_i v_i Λ_ik. A step δ of the
parameters changes v_k by J_k δ, of which only the part J⊥_k δ outside the span of all v matters. Imaginary time of
length τ, taken implicitly, (1 + τ (K − λ_k)) J⊥_k δ = −τ r_k, is tested with all J⊥_k and summed over k:

    (S + τ H) δ = −τ g,   S = Σ_k ⟨J⊥_k, J⊥_k⟩,   H = Σ_k ⟨J⊥_k, (K − λ_k) J⊥_k⟩,   g = Σ_k ⟨J_k, r_k⟩.

τ = 0 is natural gradient descent, τ → ∞ Newton's method. g vanishes on every single batch once all v_k are
eigenfunctions.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from eigenax.core.rayleigh import HIGHEST, quotient, second_moment

PIECE = 2**24
"""The most numbers in the Jacobian of the points that are treated at a time."""


class Span(NamedTuple):
    """Orthonormal functions v = M u on a batch, with diagonal Λ, and their residuals."""

    matrix: Float[Array, "k k"]
    """M."""
    v: Float[Array, "b k"]
    kv: Float[Array, "b k"]
    values: Float[Array, " k"]
    residual: Float[Array, "b k"]
    projected: Float[Array, "k k"]
    """Λ_ik = ⟨v_i, K v_k⟩ on the batch, not symmetrised."""


class Tangent(NamedTuple):
    """S, H and g of a batch; see the head of this module."""

    metric: Float[Array, "p p"]
    curvature: Float[Array, "p p"]
    gradient: Float[Array, " p"]


def span_of(u: Float[Array, "b k"], ku: Float[Array, "b k"], weights: Float[Array, " b"]) -> Span:
    """The Ritz functions in the span of u on a batch."""
    cholesky, matrix = quotient(second_moment(u, u, weights), second_moment(u, ku, weights))
    values, rotation = jnp.linalg.eigh((matrix + matrix.T) / 2)
    whitening = jax.scipy.linalg.solve_triangular(cholesky, jnp.eye(len(values), dtype=u.dtype), lower=True)
    combine = jnp.matmul(rotation.T, whitening, precision=HIGHEST)
    v, kv = (jnp.matmul(part, combine.T, precision=HIGHEST) for part in (u, ku))
    projected = second_moment(v, kv, weights)
    residual = kv - jnp.matmul(v, projected, precision=HIGHEST)
    return Span(combine, v, kv, _values(projected), residual, projected)


def _values(matrix: Float[Array, "k k"]) -> Float[Array, " k"]:
    """The eigenvalues of a matrix whose symmetric part is diagonal, to second order in the rest.

    That rest is the scatter of Σ times the distance between values, and the exact eigenvalues do not feel it.
    """
    values, rest = jnp.diag(matrix), (matrix - matrix.T) / 2
    apart = values[None] - values[:, None]
    close = 1e-3 * jnp.max(jnp.abs(apart)) + jnp.finfo(matrix.dtype).tiny
    return values + jnp.sum(rest**2 * apart / (apart**2 + close**2), 1)


def tangent(
    u_and_ku: Callable[[Float[Array, " p"], Float[Array, "..."]], Float[Array, " two_k"]],
    theta: Float[Array, " p"],
    x: Float[Array, "b ..."],
    weights: Float[Array, " b"],
    span: Span,
) -> Tangent:
    """S, H and g; `u_and_ku` gives u and then K u at one point as a function of the parameters.

    One pass over the batch, a piece at a time: the projection is subtracted from the sums, not point by point.
    """
    count, k, parameters = len(x), len(span.values), len(theta)
    pieces = _pieces(count, 2 * k * parameters)

    def jacobians(points: Array) -> tuple[Array, Array]:
        rows = jax.vmap(jax.jacrev(u_and_ku), (None, 0))(theta, points)
        both = jnp.einsum("ki,bjip->bjkp", span.matrix, rows.reshape(-1, 2, k, parameters), precision=HIGHEST)
        return both[:, 0], both[:, 1] - span.values[:, None] * both[:, 0]

    def add(total: tuple[Array, ...], piece: tuple[Array, ...]) -> tuple[tuple[Array, ...], None]:
        points, root, v, shifted, residual = piece
        j, kj = (root[:, None, None] * part for part in jacobians(points))
        rows, k_rows = j.reshape(-1, parameters), kj.reshape(-1, parameters)
        new = (
            _product(rows, rows),
            _product(rows, k_rows),
            _product(rows, (root[:, None] * residual).reshape(-1, 1))[:, 0],
            jnp.einsum("bi,bkp->kip", root[:, None] * v, j, precision=HIGHEST),
            jnp.einsum("bi,bkp->kip", root[:, None] * v, kj, precision=HIGHEST),
            jnp.einsum("bki,bkp->kip", root[:, None, None] * shifted, j, precision=HIGHEST),
        )
        return tuple(jnp.add(*pair) for pair in zip(total, new, strict=True)), None

    # (K v_i − λ_k v_i) at each point, for all k and i.
    shifted = span.kv[:, None, :] - span.values[None, :, None] * span.v[:, None, :]
    parts = (x, jnp.sqrt(weights / count), span.v, shifted, span.residual)
    cut = tuple(part.reshape(pieces, count // pieces, *part.shape[1:]) for part in parts)
    square, within = jnp.zeros((parameters, parameters), theta.dtype), jnp.zeros((k, k, parameters), theta.dtype)
    (s, h, g, e, f, c), _ = jax.lax.scan(add, (square, square, jnp.zeros_like(theta), within, within, within), cut)
    between = span.projected[None] - span.values[:, None, None] * jnp.eye(k, dtype=theta.dtype)
    e, f, c = (part.reshape(-1, parameters) for part in (e, f - jnp.einsum("kij,kjp->kip", between, e), c))
    h = h - _product(e, f) - _product(c, e)
    return Tangent(s - _product(e, e), (h + h.T) / 2, g)


def _product(left: Float[Array, "m p"], right: Float[Array, "m q"]) -> Float[Array, "p q"]:
    return jnp.matmul(left.T, right, precision=HIGHEST)


def _pieces(count: int, each: int) -> int:
    """Into how many equal pieces to cut the points, each of which has `each` numbers in its Jacobian."""
    return next(
        pieces
        for pieces in range(1, count + 1)
        if (count % pieces == 0 and count // pieces * each <= PIECE) or pieces == count
    )

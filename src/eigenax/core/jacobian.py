"""The Jacobian of Σ with respect to the parameters, which Algorithm 1 of the paper averages.

Only one half of it is needed: T_ij = E[w u_i ∂u_j/∂θ], from which ∂Σ_ij/∂θ = T_ij + T_ji.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from eigenax.core.rayleigh import HIGHEST

Pullback = Callable[[Float[Array, "b k"]], PyTree]
"""Maps a cotangent of u to a cotangent of the parameters; `jax.vjp` returns it."""


def half_jacobian(network: Any, x: Float[Array, "b ..."], weights: Float[Array, " b"]) -> PyTree:
    """T as a tree with leaves (k, k, …): k² numbers for each parameter.

    A weight matrix acts once on every point, so that all k² backward passes to it become one product of matrices.
    Convolution kernels and biases act in many places of one point: here k backward passes give ∂u_j/∂θ at each point,
    and the sum over points is the product of matrices.
    """
    parameters, static = eqx.partition(network, eqx.is_inexact_array)
    matrices, others = eqx.partition(parameters, lambda leaf: leaf.ndim == 2)
    u, pullback = jax.vjp(lambda m: jax.vmap(eqx.combine(m, others, static))(x), matrices)
    scaled, basis = weights[:, None] * u / len(u), jnp.eye(u.shape[1], dtype=u.dtype)

    def entry(scaled_i: Array, basis_j: Array) -> PyTree:
        return pullback(jnp.outer(scaled_i, basis_j))[0]

    def at_point(x: Array) -> PyTree:
        _, pullback = jax.vjp(lambda o: eqx.combine(matrices, o, static)(x), others)
        return jax.vmap(pullback)(basis)[0]

    def over_points(jacobian: Array) -> Array:
        return jnp.einsum("bi,bj...->ij...", scaled, jacobian, precision=HIGHEST)

    over_j = jax.vmap(entry, in_axes=(None, 0))
    of_matrices = jax.vmap(over_j, in_axes=(0, None))(scaled.T, basis)
    of_others = jax.tree.map(over_points, jax.vmap(at_point)(x))
    return eqx.combine(of_matrices, of_others)


def half_jacobian_separate(pullback: Pullback, u: Float[Array, "b k"], weights: Float[Array, " b"]) -> PyTree:
    """T where each parameter belongs to one mode only: k backward passes give k numbers for each parameter."""
    scaled = (weights[:, None] * u / u.shape[0]).T
    return jax.vmap(lambda s: pullback(jnp.broadcast_to(s[:, None], u.shape)))(scaled)


def contract(gradient: Float[Array, "k k"], jacobian: PyTree) -> PyTree:
    """Σ_ij A_ij T_ij: the gradient A with respect to Σ, carried on to the parameters."""
    return jax.tree.map(lambda t: jnp.einsum("ij,ij...->...", gradient, t, precision=HIGHEST), jacobian)


def contract_separate(gradient: Float[Array, "k k"], jacobian: PyTree) -> PyTree:
    """As `contract`, for separate networks, whose parameter arrays have the mode as their leading axis.

    Functions without parameters (a constant) come first, so that only the last columns of A count.
    """

    def leaf(t: Array) -> Array:
        return jnp.einsum("ij,ij...->j...", gradient[:, -t.shape[1] :], t, precision=HIGHEST)

    return jax.tree.map(leaf, jacobian)


def zeros_like_jacobian(parameters: PyTree, *leading: int) -> Any:
    """A Jacobian of zeros, from which its moving average starts."""
    return jax.tree.map(lambda p: jnp.zeros((*leading, *p.shape), p.dtype), parameters)

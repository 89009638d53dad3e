"""Distances of learned modes from exact ones: errors of eigenvalues, subspace distances, orthogonality."""

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.batch import Batch
from eigenax.core.rayleigh import HIGHEST
from eigenax.samples import FreshSamples


def relative_errors(
    values: Float[np.ndarray, "*times n"], exact: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "*times n"]:
    """|λ − exact| / |exact|, and the absolute error where the exact value is zero.

    >>> relative_errors(np.array([0.1, 2.2]), np.array([0.0, 2.0])).round(3)
    array([0.1, 0.1])
    """
    scale = np.abs(exact)
    return np.abs(values - exact) / np.where(scale > 0, scale, 1)


def degenerate_blocks(exact: Float[np.ndarray, " n"], tolerance: float = 1e-9) -> list[slice]:
    """The slices of equal eigenvalues.

    >>> degenerate_blocks(np.array([1.0, 2.0, 2.0]))
    [slice(0, 1, None), slice(1, 3, None)]
    """
    edges = [0, *(i for i in range(1, len(exact)) if abs(exact[i] - exact[i - 1]) > tolerance), len(exact)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def subspace_distance(
    learned: Float[np.ndarray, "k k"], cross: Float[np.ndarray, "m k"], exact: Float[np.ndarray, "m m"]
) -> float:
    """1 − tr(A₂ᵀA₁(A₁ᵀA₁)⁻¹A₁ᵀA₂(A₂ᵀA₂)⁻¹)/k from the Gram matrices A₂ᵀA₂, A₁ᵀA₂ and A₁ᵀA₁.

    A₂ are the learned functions, A₁ those of the whole exact eigenspace, which may be larger. Zero when the
    learned ones lie inside it, one when they are orthogonal to it.

    >>> subspace_distance(np.eye(1), np.zeros((2, 1)), np.eye(2))
    1.0
    """
    projected = cross.T @ np.linalg.solve(exact, cross)
    return float(1 - np.trace(np.linalg.solve(learned, projected)) / len(learned))


def gram_matrices(
    learned: Callable[[Array], Array], exact: Callable[[Array], Array], samples: FreshSamples
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[w v vᵀ], E[w f vᵀ] and E[w f fᵀ] of learned functions v and exact ones f, over fresh samples."""

    def of_batch(batch: Batch) -> tuple[Array, ...]:
        v, f = jax.vmap(learned)(batch.x), jax.vmap(exact)(batch.x)

        def moment(a: Array, b: Array) -> Array:
            return jnp.einsum("bi,b,bj->ij", a, batch.weights, b, precision=HIGHEST) / len(batch.weights)

        return moment(v, v), moment(f, v), moment(f, f)

    vv, fv, ff = (part.mean(0) for part in samples.map(of_batch))
    return vv, fv, ff


def orthogonality(gram: Float[np.ndarray, "n n"]) -> float:
    """The largest entry of |VᵀWV − I|."""
    return float(np.abs(gram - np.eye(len(gram))).max())

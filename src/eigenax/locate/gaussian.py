"""The self-consistent harmonic approximation: the Gaussian of lowest energy, in any number of dimensions."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.core.compiled import compiled
from eigenax.core.rayleigh import HIGHEST
from eigenax.domains.box import Box
from eigenax.locate.diffusion_monte_carlo import local_form, potential_of
from eigenax.operators.base import Operator

POINTS = 4096
"""Points of the Gaussian, in pairs mirrored at its centre, that forces are averaged over."""
ITERATIONS = 60
"""Self-consistent iterations."""
MIXED = 0.5
"""The share of the new covariance in each iteration."""
WIDEST = 0.5
"""A standard deviation is at most this share of the half-width of the box."""


class GaussianState(NamedTuple):
    """The squared wave function of a Gaussian state."""

    mean: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]


def self_consistent_gaussian(
    operator: Operator, box: Box, start: GaussianState, key: PRNGKeyArray
) -> GaussianState | None:
    """The Gaussian φ of lowest energy for −D∇² + V, by its squared mean and covariance C; None if it diverges.

    Its energy, Σ_i D_i (C⁻¹)_ii / 4 + E[V] over points of φ², is stationary where E[∇V] = 0 and
    C⁻¹ D C⁻¹ = 2 E[∇²V]: an oscillator with the mean curvature of V. The curvature comes from the forces,
    E[∇²V] = E[∇V (x − m)ᵀ] C⁻¹. A harmonic V is solved exactly.

    >>> import eigenax as ex
    >>> oscillator = -0.5 * ex.Laplacian() + ex.Potential(lambda x: 2 * jnp.sum((x - 1) ** 2))
    >>> start = GaussianState(np.zeros(2), np.eye(2))
    >>> found = self_consistent_gaussian(oscillator, ex.Box(-6, 6, dims=2), start, jax.random.key(0))
    >>> found.mean.round(3), found.covariance.round(3).tolist()  # 1 / (2 ω) with ω = 2
    (array([1., 1.]), [[0.25, 0.0], [0.0, 0.25]])
    """
    mean, covariance = _iterated(
        operator, box, jnp.asarray(start.mean, float), jnp.asarray(start.covariance, float), key
    )
    mean, covariance = np.asarray(mean, np.float64), np.asarray(covariance, np.float64)
    inside = (mean > np.array(box.low)) & (mean < np.array(box.high))
    usable = np.isfinite(covariance).all() and inside.all()
    return GaussianState(mean, covariance) if usable else None


@compiled
def _iterated(
    operator: Operator, box: Box, mean: Float[Array, " d"], covariance: Float[Array, "d d"], key: PRNGKeyArray
) -> tuple[Array, Array]:
    half = jax.random.normal(key, (POINTS // 2, len(mean)), mean.dtype)
    noise = jnp.concatenate([half, -half])
    # With a sample covariance of exactly one, a harmonic V is solved without noise.
    root = jnp.linalg.cholesky(jnp.matmul(noise.T, noise, precision=HIGHEST) / len(noise))
    noise = jax.scipy.linalg.solve_triangular(root, noise.T, lower=True).T
    low, high, most = (jnp.asarray(part, mean.dtype) for part in (box.low, box.high, WIDEST * box.half_width))
    diffusion = local_form(operator, mean[None]).diffusion
    force = jax.vmap(jax.grad(lambda x: potential_of(operator, x[None])[0]))

    def refine(before: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        mean, covariance = before
        root = jnp.linalg.cholesky(covariance)
        x = mean + jnp.matmul(noise, root.T, precision=HIGHEST)
        slopes = force(jnp.clip(x, low, high))
        pulled = jnp.matmul(noise.T, slopes, precision=HIGHEST) / len(noise)
        curvature = jax.scipy.linalg.solve_triangular(root, pulled, lower=True, trans="T")
        # In units of D the condition is X² = 2 √D E[∇²V] √D with X = √D C⁻¹ √D.
        scale = jnp.sqrt(diffusion)
        sizes, axes = jnp.linalg.eigh(scale[:, None] * (curvature + curvature.T) / 2 * scale)
        sizes = jnp.maximum(sizes, jnp.min(diffusion / most**2) ** 2)
        new = scale[:, None] * (axes / jnp.sqrt(2 * sizes)) @ axes.T * scale
        inverse = (scale[:, None] * axes / sizes) @ axes.T * scale
        # Newton's step of the centre, within the present width.
        shift = jnp.matmul(inverse, slopes.mean(0), precision=HIGHEST)
        widths = jnp.sqrt(jnp.diag(covariance))
        mean = jnp.clip(mean - jnp.clip(shift, -3 * widths, 3 * widths), low + 0.01 * most, high - 0.01 * most)
        return (mean, (1 - MIXED) * covariance + MIXED * new), None

    return jax.lax.scan(refine, (mean, covariance), length=ITERATIONS)[0]

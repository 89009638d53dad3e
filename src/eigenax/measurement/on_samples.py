"""What fresh samples tell of functions: their moments, their signs, and the errors of their eigenvalues."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from eigenax.core.batch import Batch, Function
from eigenax.operators.base import Operator
from eigenax.samples import FreshSamples


def signs(function: Function, samples: FreshSamples) -> Inexact[np.ndarray, " n"]:
    """Factors that make the largest value of each function positive: its sign, or the conjugate of its phase."""
    (largest,) = samples.map(_largest, function)
    there = np.take_along_axis(largest, np.abs(largest).argmax(0)[None], 0)[0]
    return np.where(there == 0, 1, np.conj(there) / np.where(there == 0, 1, np.abs(there)))


def _largest(batch: Batch, function: Function) -> tuple[Array]:
    v = jax.vmap(function)(batch.x)
    return (jnp.take_along_axis(v, jnp.abs(v).argmax(0)[None], 0)[0],)


def moments(function: Function, operator: Operator, samples: FreshSamples) -> list[np.ndarray]:
    """Σ and Π of functions, and the mean of (w u²)², from which follows the effective number of samples of each."""
    return samples.mean(_moments, function, operator)


def _moments(batch: Batch, function: Function, operator: Operator) -> tuple[Array, Array, Array]:
    sigma, pi, _ = operator.moments(function, batch)
    weighted = batch.weights[:, None] * jnp.abs(jax.vmap(function)(batch.x)) ** 2
    return sigma, pi, jnp.mean(weighted**2, 0)


def errors(
    function: Function, values: Float[np.ndarray, " n"], operator: Operator, samples: FreshSamples
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Standard errors and residual norms ‖(K − λ) v‖ of orthonormal functions.

    To first order the sampling error of a Rayleigh quotient is E[w v (K v − λ v)], which is zero at an eigenfunction. A
    residual that the samples cannot tell from zero is replaced by the smallest one that they can tell. It is NaN where
    they give no estimate: it takes two independent estimates of K v, which pairs of points without a third cannot give.
    """
    influence, squared = samples.map(_influence, function, operator, values)
    standard_errors = influence.std(0, ddof=1) / np.sqrt(len(influence))
    resolution = squared.std(0, ddof=1) / np.sqrt(len(squared))
    return standard_errors, np.sqrt(np.maximum(squared.mean(0), resolution))


def _influence(
    batch: Batch, function: Function, operator: Operator, values: Float[Array | np.ndarray, " n"]
) -> tuple[Array, Array]:
    """The mean influence of the points of a batch on the Rayleigh quotients, and the mean squared residual."""
    v = jax.vmap(function)(batch.x)
    expected = jnp.asarray(values, v.dtype) * v
    influence = batch.weights[:, None] * jnp.conj(v) * (operator.apply(function, batch, v) - expected)
    estimates = operator.independent_estimates(function, batch, v)
    squared = estimates.weights[:, None] * jnp.conj(estimates.first - expected) * (estimates.second - expected)
    total_weight = estimates.weights.sum() / batch.weights.mean()
    return influence.mean(0).real, squared.sum(0).real / total_weight

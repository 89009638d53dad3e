"""Rayleigh–Ritz on samples: the best combinations of functions, found on some samples and measured on others."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from eigenax.core.batch import Batch, Function
from eigenax.core.precision import precision_scope
from eigenax.core.random_streams import Stream
from eigenax.core.ritz import combine, distance_to_exact, lowest
from eigenax.core.whitening import CUTOFFS
from eigenax.errors import SingularMomentsError
from eigenax.measurement.basis_error import basis_error
from eigenax.measurement.on_samples import moments
from eigenax.measurement.solution import Solution
from eigenax.modes import Which
from eigenax.networks.combined import combined
from eigenax.operators.base import Operator

POINTS_PER_FUNCTION = 64
"""A Rayleigh–Ritz step over f functions takes at least this many times f points."""
LEAST_EFFECTIVE_SAMPLES = 100
"""Functions u whose effective number of samples, N E[w u²]²/E[(w u²)²], is less than this are left out."""
CUTS = CUTOFFS["sampled"]
"""Cutoffs that are tried, and compared on other samples."""
CERTAIN = 6
"""An asymmetry of Π is reported only if it exceeds this many standard errors."""
ASYMMETRIC = 1e-2
"""An asymmetry of Π is reported only if it exceeds this share of the largest eigenvalue."""


def ritz(network: Function, operator: Operator, fresh: Any, n: int, which: Which, nested: bool = False) -> Solution:
    """The best n combinations of f functions: found on some samples; chosen, rotated and measured on others.

    A solution is found for each cutoff in `CUTS`, and the one with the smallest residuals on the other samples is
    chosen: too small a cutoff fits rounding and sampling noise. Where the operator gives no residuals, the Rayleigh
    quotients decide. With `nested`, the functions are untrained: a part of them is like the whole, so that the values
    of parts tell what more functions would change.
    """
    sign = 1 if which == "smallest" else -1
    with precision_scope("float64"):
        functions = jax.eval_shape(network, jnp.zeros(fresh.args[0].shape)).shape[0]
    first, second = fresh(purpose=Stream.FINDING), fresh(purpose=Stream.MEASURING)
    first = dataclasses.replace(first, samples=max(first.samples, POINTS_PER_FUNCTION * functions))
    sigma, pi, fourth = moments(network, operator, first)
    sizes = np.real(np.diag(sigma))
    supported = (first.samples * sizes**2 >= LEAST_EFFECTIVE_SAMPLES * np.real(fourth)) & (sizes > 0)
    kept = np.ix_(supported, supported)
    if supported.sum() < n:
        raise SingularMomentsError(
            f"the samples support only {supported.sum()} functions, but n is {n}: draw more, or ask for fewer modes"
        )
    sigma, pi = sigma[kept], sign * pi[kept]
    solutions = lowest(sigma, pi, n, CUTS)
    candidates = [_filled_with_zeros(found.coefficients, supported) for found in solutions]
    sums = second.map(_all_moments, combined(network, np.concatenate(candidates, 1)), operator)
    blocks = [slice(c * n, (c + 1) * n) for c in range(len(CUTS))]
    rotated = [_rotated(sign, *(part[:, block, block] for part in sums)) for block in blocks]
    by_residual = not np.isnan(rotated[0].residuals).any()
    best = min(range(len(CUTS)), key=lambda c: (rotated[c].residuals if by_residual else rotated[c].values).sum())
    values, rotation, scatter, distance, residuals, *_ = rotated[best]
    if nested:
        distance = basis_error(sigma, pi, solutions[best], CUTS[best], residuals)
    between = np.einsum("im,gij,jn->gmn", rotation.conj(), sums[1][:, blocks[best], blocks[best]], rotation)
    asymmetry, note = _asymmetry_of(between, values)
    distance, next_value = np.hypot(distance, asymmetry), solutions[best].signed(sign).next_value
    return Solution(sign * values, candidates[best] @ rotation, scatter, distance, residuals, next_value, note)


def _all_moments(batch: Batch, function: Function, operator: Operator) -> tuple[Array, ...]:
    """Σ, Π and, unless the operator is in weak form, E[w (K u)* (K u)ᵀ]."""
    return tuple(part for part in operator.moments(function, batch) if part is not None)


def _rotated(
    sign: int,
    sigma: Inexact[np.ndarray, "g n n"],
    pi: Inexact[np.ndarray, "g n n"],
    squared: Inexact[np.ndarray, "g n n"] | None = None,
) -> Solution:
    """Rotate functions into orthonormal ones with diagonal Λ, from the moments of g groups of samples.

    To first order the sampling error of a Rayleigh quotient is E[w v (K v − λ v)], whose scatter between groups gives
    the standard error. Functions that are not independent get infinite values and errors. Without `squared`, residuals
    are not known.
    """
    pi = sign * pi
    try:
        values, rotation, _ = combine(sigma.mean(0), pi.mean(0))
    except SingularMomentsError:
        n = sigma.shape[1]
        never = np.full(n, np.inf)
        return Solution(never, np.eye(n), never, never, never if squared is not None else never * np.nan)

    def diagonals(matrices: Inexact[np.ndarray, "g n n"]) -> Float[np.ndarray, "g n"]:
        return np.einsum("in,gij,jn->gn", rotation.conj(), matrices, rotation).real

    influence, scatter = diagonals(pi) - values * diagonals(sigma), np.sqrt(len(sigma))
    if squared is None:
        residuals = np.full(len(values), np.nan)
    else:
        norms = diagonals(squared) - 2 * values * diagonals(pi) + values**2 * diagonals(sigma)
        residuals = np.sqrt(np.maximum(norms.mean(0), norms.std(0, ddof=1) / scatter))
    distance = distance_to_exact(values, residuals)
    return Solution(values, rotation, influence.std(0, ddof=1) / scatter, distance, residuals)


def _asymmetry_of(
    pi: Inexact[np.ndarray, "g n n"], values: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], str]:
    """The largest |⟨v_i, K v_j⟩ − ⟨K v_i, v_j⟩| of each function, and a note for the user.

    Zero, and no note, where the scatter between samples can explain the difference.
    """
    difference = pi - np.conj(np.swapaxes(pi, 1, 2))
    mean, scatter = np.abs(difference.mean(0)), difference.std(0, ddof=1) / np.sqrt(len(pi))
    size = np.maximum(np.abs(values), np.ptp(values)).max()
    i, j = np.unravel_index(mean.argmax(), mean.shape)
    if not mean[i, j] > max(CERTAIN * scatter[i, j], ASYMMETRIC * size):
        return np.zeros(len(values)), ""
    return mean.max(0), (
        f"the operator is not symmetric under this source: ⟨v_{j + 1}, K v_{i + 1}⟩ and ⟨K v_{j + 1}, v_{i + 1}⟩ "
        f"differ by {mean[i, j]:.2g}, so that eigenvalues may mean nothing. A drift needs a source of its stationary "
        "density, and functions must obey the boundary condition"
    )


def _filled_with_zeros(rows: Inexact[np.ndarray, "s n"], places: Bool[np.ndarray, " f"]) -> Inexact[np.ndarray, "f n"]:
    """A matrix with these rows where `places` is true, and zeros elsewhere."""
    whole_matrix = np.zeros((len(places), rows.shape[1]), rows.dtype)
    whole_matrix[places] = rows
    return whole_matrix

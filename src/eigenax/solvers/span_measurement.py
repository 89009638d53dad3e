"""The states in the span of trained functions, measured on points of Markov chains."""

import dataclasses
from collections.abc import Callable

import jax
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float

from eigenax.core.batch import Batch, Function
from eigenax.core.precision import Precision
from eigenax.core.random_streams import Stream, stream
from eigenax.core.rayleigh import second_moment
from eigenax.errors import SingularMomentsError
from eigenax.locate.norm import with_norm
from eigenax.measurement.on_samples import signs
from eigenax.measurement.solution import Solution
from eigenax.modes import Modes
from eigenax.networks.base import hidden_layer
from eigenax.networks.combined import combined
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.samples import FreshSamples
from eigenax.solvers.outputs import ansatz_of, lowest_outputs, with_outputs
from eigenax.sources.arrays import Arrays
from eigenax.sources.base import Source
from eigenax.sources.markov_chains import MarkovChainPoints

ALIKE = 0.75
"""The correlation of the basis errors of two states."""
CLOSE = 0.01
"""Eigenvalues that differ by less than this share of the range of all are close."""
SIGN_SAMPLES = 2**12
"""Points that tell the sign of each function."""
USABLE = 30.0
"""Values count for the slope while squared residuals are below this many times the final ones."""
POINTS_PER_FEATURE = 128
"""Points that the best combinations of features are found on, for each feature."""
LEAST_KEPT = 3
"""The fewest values from which a slope is told."""


def measured_on(
    problem: Problem,
    network: Function,
    source: Source,
    errors: Callable[[Solution], Float[np.ndarray, " n"]],
    *,
    samples: int,
    precision: Precision,
    near: float = 0.0,
) -> Modes:
    """The modes in the span of a network's functions, measured on a source, with these basis errors."""
    fresh = FreshSamples(
        source,
        problem.seed,
        Stream.MEASURING,
        samples=samples,
        progress=problem.progress,
        evenly=True,
        precision=precision,
    )
    network, found, scatter = best_span(network, problem, fresh, near)
    return modes_of_span(problem, network, found._replace(basis_errors=errors(found)), scatter, fresh)


def best_span(
    network: Function, problem: Problem, fresh: FreshSamples, near: float
) -> tuple[Function, Solution, Float[np.ndarray, "n n"]]:
    """The network as it was trained, or with the best combinations of its features as outputs, measured.

    These are found on other points than those that both are measured on. Residuals decide which is better.
    """
    as_trained = measured_span(network, problem.operator, fresh, problem.n, problem.sign, near)
    ansatz = ansatz_of(network)
    if ansatz is None:
        return network, *as_trained
    features, outputs = hidden_layer(network), ansatz.outputs.shape[0]
    samples = max(fresh.samples, POINTS_PER_FEATURE * ansatz.outputs.shape[1])
    finding = dataclasses.replace(fresh, purpose=Stream.FINDING, samples=samples)
    sigma, pi = finding.mean(_feature_moments, features, problem.operator)
    try:
        better = with_outputs(network, lowest_outputs(sigma, problem.sign * pi, outputs)[1])
        refined = measured_span(better, problem.operator, fresh, problem.n, problem.sign, near)
    except SingularMomentsError:
        return network, *as_trained
    sums = [np.log(found.residuals).sum() for found, _ in (as_trained, refined)]
    return (better, *refined) if sums[1] < sums[0] else (network, *as_trained)


def _feature_moments(batch: Batch, features: Function, operator: Operator) -> tuple[Array, Array]:
    """Σ and Π."""
    u = jax.vmap(features)(batch.x)
    ku = operator.apply(features, batch, u)
    return second_moment(u, u, batch.weights), second_moment(u, ku, batch.weights)


def measured_span(
    network: Function, operator: Operator, fresh: FreshSamples, n: int, sign: float, near: float
) -> tuple[Solution, Float[np.ndarray, "n n"]]:
    """The n lowest states in the span of a network's functions, from Π = E[w u (K u)ᵀ] as sampled.

    Functions whose span is invariant obey K u = Λᵀ u at each point, so that Π = Σ Λ on any samples: the eigenvalues of
    Σ⁻¹ Π then do not scatter at all, whereas those of a symmetrised Π would by the square of the scatter of Σ. Standard
    errors are those of the jackknife over independent groups of points, whose covariance is returned too. `near` is a
    number close to the eigenvalues, which is subtracted from K: rounding is relative to what is left.
    """
    sigma, pi, squared = fresh.map(_shifted_moments, network, operator, np.asarray(near))
    values = sign * _values(sigma.mean(0), sign * pi.mean(0))
    groups = len(sigma)
    without = [(part.sum(0) - part[g]) / (groups - 1) for g in range(groups) for part in (sigma, pi)]
    left_out = np.array([sign * _values(s, sign * p) for s, p in zip(without[::2], without[1::2], strict=True)])
    away = (left_out - left_out.mean(0))[:, :n]
    scatter = (groups - 1) / groups * away.T @ away
    vectors = _eigenvectors(sigma.mean(0), sign * pi.mean(0), n)

    def diagonals(matrices: Float[np.ndarray, "g k k"]) -> Float[np.ndarray, "g n"]:
        return np.einsum("in,gij,jn->gn", vectors, matrices, vectors)

    norms = diagonals(squared) - 2 * values[:n] * diagonals(pi) + values[:n] ** 2 * diagonals(sigma)
    residuals = np.sqrt(np.maximum(norms.mean(0), norms.std(0, ddof=1) / np.sqrt(groups)))
    values = values + near
    next_value = float(values[n]) if len(values) > n else None
    # K u is rounded before `near` is subtracted, alike at all points: that does not show in the scatter.
    scatter = scatter + _shared(np.finfo(fresh.precision).eps * np.abs(values[:n]))
    sampling = np.sqrt(np.diag(scatter))
    return Solution(values[:n], vectors, sampling, np.full(n, np.nan), residuals, next_value), scatter


def _shifted_moments(batch: Batch, function: Function, operator: Operator, near: Array) -> tuple[Array, ...]:
    """Σ, Π and E[w K u (K u)ᵀ] with K − near in place of K."""
    u = jax.vmap(function)(batch.x)
    ku = operator.apply(function, batch, u) - near.astype(u.dtype) * u
    return tuple(second_moment(a, b, batch.weights) for a, b in ((u, u), (u, ku), (ku, ku)))


def _values(sigma: Float[np.ndarray, "k k"], pi: Float[np.ndarray, "k k"]) -> Float[np.ndarray, " k"]:
    """The eigenvalues of Σ⁻¹ Π, ascending; of a pair that noise made complex, the real part."""
    try:
        return np.sort(np.real(scipy.linalg.eigvals(scipy.linalg.cho_solve(scipy.linalg.cho_factor(sigma), pi))))
    except (np.linalg.LinAlgError, ValueError) as error:
        raise SingularMomentsError(
            "the functions are not independent, or their moments are not finite: ask for fewer modes, or take a "
            "larger batch"
        ) from error


def _eigenvectors(sigma: Float[np.ndarray, "k k"], pi: Float[np.ndarray, "k k"], n: int) -> Float[np.ndarray, "k n"]:
    """The right eigenvectors of Σ⁻¹ Π for its n lowest eigenvalues, orthonormal under Σ where eigenvalues are close.

    Those of eigenvalues far apart are orthogonal already, as far as residuals allow, and not only on these samples.
    """
    values, vectors = np.linalg.eig(np.linalg.solve(sigma, pi))
    order = np.lexsort((np.imag(values), np.real(values)))[:n]
    values, vectors = values[order], vectors[:, order]
    # Two vectors of a complex pair span the same plane as the real and the imaginary part of one.
    vectors = np.where(np.imag(values) < 0, np.imag(vectors), np.real(vectors))
    values = np.real(values)
    vectors = vectors / np.sqrt(np.einsum("in,ij,jn->n", vectors, sigma, vectors))
    apart = np.flatnonzero(np.diff(values) > CLOSE * np.ptp(values))
    for cluster in np.split(np.arange(n), apart + 1):
        gram = vectors[:, cluster].T @ sigma @ vectors[:, cluster]
        vectors[:, cluster] = vectors[:, cluster] @ np.real(scipy.linalg.inv(scipy.linalg.sqrtm(gram)))
    return vectors


def slopes_of_values(
    values: Float[np.ndarray, "t k"], squares: Float[np.ndarray, "t k"], final: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """dλ/d‖r‖² of each state along the training; NaN if it cannot be told, or if values did not fall.

    An eigenvalue is above the exact one by Σ_j c_j² (λ_j − λ), and ‖r‖² = Σ_j c_j² (λ_j − λ)², where c_j are the
    admixtures of other states. While training removes all of these at about the same rate, λ falls in proportion to
    ‖r‖², and the slope tells how far it is from the value at ‖r‖ = 0. Each state has a slope of at least the median of
    all, since what is left of most states is alike.

    >>> squares = np.array([[8.0], [4.0], [2.0], [1.0], [0.5]])
    >>> slopes_of_values(1.0 + 0.1 * squares, squares, np.array([0.5]))
    array([0.1])
    """
    n = len(final)
    slopes = np.full(n, np.nan)
    for mode in range(n):
        value, square = values[:, mode], squares[:, mode]
        kept = np.isfinite(square) & (square < USABLE * final[mode]) & (square > 0)
        if kept.sum() >= LEAST_KEPT and np.ptp(np.log(square[kept])) > np.log(2):
            slopes[mode] = np.polyfit(square[kept], value[kept], 1, w=1 / np.sqrt(square[kept]))[0]
    known = np.isfinite(slopes)
    middle = float(np.median(slopes[known])) if known.any() else 0.0
    return np.fmax(slopes, middle) if middle > 0 else np.full(n, np.nan)


def modes_of_span(
    problem: Problem, network: Function, found: Solution, scatter: Float[np.ndarray, "n n"], fresh: FreshSamples
) -> Modes:
    """The modes, orthonormal in the inner product of the problem's source.

    Points of chains know it up to a factor only, which bridge sampling tells.
    """
    source, coefficients = fresh.source, found.coefficients
    few = dataclasses.replace(fresh, purpose=Stream.SIGNS, samples=SIGN_SAMPLES)
    if isinstance(source, MarkovChainPoints):
        x = source.positions(stream(problem.seed, Stream.NORM))
        source, norm = with_norm(source, x, problem.seed)
        coefficients = coefficients * np.exp(-norm.log / 2)
        few = dataclasses.replace(few, source=Arrays(x))
    coefficients = coefficients * signs(combined(network, coefficients), few)
    return Modes(
        network,
        coefficients,
        found.values,
        found.sampling_errors,
        found.basis_errors,
        found.residuals,
        problem.source.shape,
        problem.which,
        seed=problem.seed,
        precision="float64",
        source=source,
        next_eigenvalue=found.next_value,
        note=found.note,
        error_covariance=scatter + _shared(found.basis_errors),
        extrapolated=True,
    )


def _shared(errors: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
    """The covariance of basis errors: those of one envelope and one network are alike to the share `ALIKE`."""
    known = np.nan_to_num(errors)
    return ALIKE * np.outer(known, known) + (1 - ALIKE) * np.diag(known**2)

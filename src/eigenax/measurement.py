"""From a network to modes: eigenvalues and errors are measured on samples that no function was found on."""

import dataclasses
from functools import partial
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact
from scipy.ndimage import maximum_filter1d

from eigenax.checks import as_seed, check_choice, positive_int
from eigenax.core.batch import Batch, Function
from eigenax.core.precision import Precision, precision_scope
from eigenax.core.random_streams import Stream
from eigenax.core.ritz import CUTOFFS, Combination, Finish, combine, distance_to_exact, lowest
from eigenax.errors import SingularMomentsError
from eigenax.modes import Modes, Which, combined
from eigenax.networks.base import hidden_layer
from eigenax.operators.base import Operator
from eigenax.samples import BATCHES, FreshSamples
from eigenax.sources.uniform import as_source

FRESH = 2**17
"""The default number of fresh points that a trained network is measured on."""
POINTS_PER_FUNCTION = 64
"""A Rayleigh–Ritz step over f functions takes at least this many times f points."""
LEAST_EFFECTIVE_SAMPLES = 100
"""Functions u whose effective number of samples, N E[w u²]²/E[(w u²)²], is less than this are left out."""
CUTS = CUTOFFS["sampled"]
"""Cutoffs that are tried, and compared on other samples."""
MARKED = 0.01
"""A mode is marked as not converged if residual²/gap exceeds this share of its eigenvalue."""
CERTAIN = 6
"""An asymmetry of Π is reported only if it exceeds this many standard errors."""
ASYMMETRIC = 1e-2
"""An asymmetry of Π is reported only if it exceeds this share of the largest eigenvalue."""


class Solution(NamedTuple):
    """Combinations of functions that solve an eigenproblem, with their errors; `Modes` has the same fields."""

    values: Float[np.ndarray, " n"]
    coefficients: Inexact[np.ndarray, "f n"]
    sampling_errors: Float[np.ndarray, " n"]
    basis_errors: Float[np.ndarray, " n"]
    residuals: Float[np.ndarray, " n"]
    next_value: float | None = None
    """The eigenvalue that follows the last of these, where it is known."""
    note: str = ""
    """What a user should know about the errors, in a sentence."""
    training_values: Float[np.ndarray, " n"] | None = None
    """The values on training data, where `values` are those on held-out data."""
    missed: Float[np.ndarray, " n"] | None = None
    """The share of each eigenvector's variance that its fit misses, where `values` are those of a matrix."""

    def metrics(self) -> dict[str, list[float]]:
        """The numbers that a run logs."""
        errors = np.hypot(self.sampling_errors, self.basis_errors)
        values = {"eigenvalues": self.values, "residuals": self.residuals, "standard_errors": errors}
        return {name: each.tolist() for name, each in values.items()}


def measure(
    network: Any,
    operator: Operator,
    source: Any,
    *,
    n: int | None = None,
    which: Which = "smallest",
    finish: Finish = "eigh",
    samples: int = FRESH,
    seed: int = 0,
    precision: Precision = "float32",
    progress: bool = False,
) -> Modes:
    """Orthonormalise, order and measure the functions of a network on fresh samples of a source.

    The network may have been trained in another way: on another source of the same inner product, or with finite
    differences instead of exact derivatives. `finish="ritz"` takes the best `n` combinations of its last hidden layer,
    in float64, instead of its outputs. The sign of each function makes its largest value positive.
    """
    check_choice("which", which, get_args(Which))
    check_choice("finish", finish, get_args(Finish))
    samples, seed, source = positive_int("samples", samples, BATCHES), as_seed(seed), as_source(source)
    precision = "float64" if finish == "ritz" else precision
    fresh = partial(
        FreshSamples, source, seed, progress=progress, evenly=operator.local, precision=precision, samples=samples
    )
    if finish == "ritz":
        network = hidden_layer(network)
        found = ritz(network, operator, fresh, positive_int("n", n), which)
    else:
        sign = 1 if which == "smallest" else -1
        values, coefficients, _ = combine(
            *moments(network, operator, fresh(purpose=Stream.FINDING))[:2], finish=finish, sign=sign
        )
        scatter, residuals = errors(combined(network, coefficients), values, operator, fresh(purpose=Stream.MEASURING))
        found = Solution(values, coefficients, scatter, distance_to_exact(values, residuals), residuals)
    return Modes(
        network,
        found.coefficients * signs(combined(network, found.coefficients), fresh(purpose=Stream.SIGNS)),
        found.values,
        found.sampling_errors,
        found.basis_errors,
        found.residuals,
        source.shape,
        which,
        seed=seed,
        precision=precision,
        source=source if source.is_endless else None,
        next_eigenvalue=found.next_value,
        note=found.note,
    )


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
        distance = _basis_error(sigma, pi, solutions[best], CUTS[best], residuals)
    between = np.einsum("im,gij,jn->gmn", rotation.conj(), sums[1][:, blocks[best], blocks[best]], rotation)
    asymmetry, note = _asymmetry_of(between, values)
    distance, next_value = np.hypot(distance, asymmetry), solutions[best].signed(sign).next_value
    return Solution(sign * values, candidates[best] @ rotation, scatter, distance, residuals, next_value, note)


def _all_moments(batch: Batch, function: Function, operator: Operator) -> tuple[Array, ...]:
    """Σ, Π and, unless the operator is in weak form, E[w (K u)* (K u)ᵀ]."""
    return tuple(part for part in operator.moments(function, batch) if part is not None)


def _basis_error(
    sigma: Inexact[np.ndarray, "f f"],
    pi: Inexact[np.ndarray, "f f"],
    found: Combination,
    cut: float,
    residuals: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """How far values would still fall with more functions.

    This extrapolates how they fell from a quarter to half to all of the functions. Where rounding limits what functions
    can add, that alone would be overconfident, so that residual²/gap, or the last fall if that is smaller, is a lower
    bound. Where functions are too few to extrapolate from, residual²/gap is the estimate.
    """
    n, values = len(found.values), found.values
    distance = distance_to_exact(values, residuals, found.next_value)
    if len(sigma) < 4 * n:
        return distance
    try:
        quarter, half = (lowest(sigma[::part, ::part], pi[::part, ::part], n, [cut])[0].values for part in (4, 2))
    except SingularMomentsError:  # too few functions of a part are independent
        return distance
    last = np.abs(half - values)
    fall = np.maximum(_next_fall(np.abs(quarter - half), last), np.fmin(distance, last))
    # A mode marked as not converged for its residual gets an error no smaller than residual²/gap.
    return np.where(distance > MARKED * np.abs(values), np.fmax(fall, distance), fall)


def _next_fall(before: Float[np.ndarray, " n"], last: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """How far values still fall, from their last two falls, each after the number of functions was doubled.

    The larger of two models: a geometric series of falls, summed to infinity; and a next doubling that gains half as
    many digits as the last one. It is at most the last fall. Since a fall may be small by
    chance, each value takes the largest among its own and its neighbours'.

    >>> _next_fall(np.array([1.0, 1.0]), np.array([1e-4, 0.4])).round(7)
    array([0.2666667, 0.2666667])
    >>> _next_fall(np.array([1.0]), np.array([1e-4]))
    array([1.e-06])
    """
    ratio = last / np.maximum(before, np.finfo(float).tiny)
    share = np.maximum(np.sqrt(ratio), ratio / (1 - np.minimum(ratio, 0.5)))
    return maximum_filter1d(last * np.minimum(share, 1), 3)


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

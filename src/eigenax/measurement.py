"""From a trained network to modes: everything measured on samples that training never saw."""

import dataclasses
from functools import partial
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.ndimage import maximum_filter1d

from eigenax.checks import as_seed, check_choice, whole
from eigenax.core.batch import Batch, Function
from eigenax.core.precision import Precision
from eigenax.core.rayleigh import second_moment
from eigenax.core.ritz import CUTOFFS, Finish, combine, distance_to_exact, lowest
from eigenax.errors import SingularMomentsError
from eigenax.modes import Modes, Which, combined
from eigenax.networks.base import hidden_layer
from eigenax.networks.waves import Waves
from eigenax.operators.base import Operator
from eigenax.samples import FreshSamples
from eigenax.sources.adaptive import plain
from eigenax.sources.base import Source
from eigenax.sources.surface import is_place

FRESH = 2**17
"""Points that what was trained is measured on."""
POINTS_PER_FUNCTION = 64
"""A Rayleigh–Ritz step over f functions takes so many times f points at least."""
LEAST_POINTS = 100
"""Functions that live on fewer samples than this are left out."""
CUTS = CUTOFFS["sampled"]


def measure(
    network: Any,
    operator: Operator,
    source: Source,
    *,
    n: int | None = None,
    which: Which = "smallest",
    finish: Finish = "rotate",
    samples: int = FRESH,
    seed: int = 0,
    steps: int = 0,
    stopped: str = "",
    precision: Precision = "float32",
    progress: bool = False,
) -> Modes:
    """Orthonormalise, order and measure the functions of a network on fresh samples of a source.

    Also for a network trained otherwise: on another source of the same inner product, or with exact derivatives
    after finite differences. `finish="ritz"` takes the best `n` combinations of its last hidden layer, in float64,
    instead of its outputs. The sign of each function makes its largest value positive.
    """
    check_choice("which", which, get_args(Which))
    check_choice("finish", finish, get_args(Finish))
    samples, seed, source = whole("samples", samples), as_seed(seed), plain(source)
    precision = "float64" if finish == "ritz" else precision
    fresh = partial(
        FreshSamples, source, seed, progress=progress, evenly=operator.local, precision=precision, samples=samples
    )
    sign = 1 if which == "smallest" else -1
    # 0 and 1 folded into the seed's key are for the network and its training.
    if finish == "ritz":
        network = hidden_layer(network)
        values, coefficients, standard_errors, residuals = _ritz(network, operator, fresh, whole("n", n), sign)
    else:
        values, coefficients = combine(*moments(network, operator, fresh(purpose=2))[:2], finish=finish, sign=sign)
        standard_errors, residuals = errors(combined(network, coefficients), values, operator, fresh(purpose=3))
    place = source if is_place(source) else None
    signs = _signs(combined(network, coefficients), fresh(purpose=4))
    return Modes(
        network,
        coefficients * signs,
        values,
        standard_errors,
        residuals,
        source.shape,
        which,
        steps,
        seed,
        precision,
        place,
        stopped,
    )


def _signs(function: Function, samples: FreshSamples) -> Float[np.ndarray, " n"]:
    """The sign of the largest value of each function."""

    def of_batch(batch: Batch, function: Function) -> tuple[Array, Array]:
        v = jax.vmap(function)(batch.x)
        return v.max(0), v.min(0)

    highest, lowest = samples.map(of_batch, function)
    return np.where(highest.max(0) < -lowest.min(0), -1.0, 1.0)


def moments(function: Function, operator: Operator, samples: FreshSamples) -> list[np.ndarray]:
    """Σ and Π of functions, and the mean of (w u²)²: on how few samples each of them lives."""

    def of_batch(batch: Batch, function: Function) -> tuple[Array, Array, Array]:
        u = jax.vmap(function)(batch.x)
        ku = operator.apply(function, batch, u)
        weighted = batch.weights[:, None] * u**2
        return second_moment(u, u, batch.weights), second_moment(u, ku, batch.weights), jnp.mean(weighted**2, 0)

    return samples.mean(of_batch, function)


class RitzModes(NamedTuple):
    """The best combinations of functions, and how well they are known."""

    values: Float[np.ndarray, " n"]
    coefficients: Float[np.ndarray, "f n"]
    standard_errors: Float[np.ndarray, " n"]
    residuals: Float[np.ndarray, " n"]


def _ritz(network: Function, operator: Operator, fresh: Any, n: int, sign: int) -> RitzModes:
    """The best n combinations of f functions: found on some samples; chosen, rotated and measured on others.

    Samples decide how small a variance they support: too small a cut lets rounding and chance in, and shows as a
    residual on the other samples.
    """
    functions = jax.eval_shape(network, jnp.zeros(fresh.args[0].shape)).shape[0]
    first, second = fresh(purpose=2), fresh(purpose=3)
    first = dataclasses.replace(first, samples=max(first.samples, POINTS_PER_FUNCTION * functions))
    sigma, pi, fourth = moments(network, operator, first)
    supported = (first.samples * np.diag(sigma) ** 2 >= LEAST_POINTS * fourth) & (np.diag(sigma) > 0)
    kept = np.ix_(supported, supported)
    if supported.sum() < n:
        raise SingularMomentsError(
            f"the samples support only {supported.sum()} functions, but n is {n}: draw more, or ask for fewer modes"
        )
    solutions = lowest(sigma[kept], sign * pi[kept], n, CUTS)
    candidates = [_scattered(found.coefficients, supported) for found in solutions]
    together = combined(network, np.concatenate(candidates, 1))

    def of_batch(batch: Batch, function: Function) -> tuple[Array, Array, Array]:
        v, w = jax.vmap(function)(batch.x), batch.weights
        kv = sign * operator.apply(function, batch, v)
        return second_moment(v, v, w), second_moment(v, kv, w), second_moment(kv, kv, w)

    sums = second.map(of_batch, together)
    blocks = [slice(c * n, (c + 1) * n) for c in range(len(CUTS))]
    rotated = [_rotated(*(part[:, block, block] for part in sums)) for block in blocks]
    best = min(range(len(CUTS)), key=lambda c: rotated[c].residuals.sum())
    values, rotation, standard_errors, residuals = rotated[best]
    if isinstance(network, Waves):
        missing = _still_to_come(sigma[kept], sign * pi[kept], solutions[best].values, CUTS[best], residuals)
        standard_errors = np.hypot(standard_errors, missing)
    return RitzModes(sign * values, candidates[best] @ rotation, standard_errors, residuals)


def _still_to_come(
    sigma: Float[np.ndarray, "f f"],
    pi: Float[np.ndarray, "f f"],
    values: Float[np.ndarray, " n"],
    cut: float,
    residuals: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """How far values would still fall, from how they fell from a quarter to half to all functions and from residuals.

    For functions that nothing trained: any part of them is like the whole. Where rounding decides what functions can
    add, the falls would promise too much.
    """
    n = len(values)
    if len(sigma) < 4 * n:
        return np.zeros(n)
    quarter, half = (lowest(sigma[::part, ::part], pi[::part, ::part], n, [cut])[0].values for part in (4, 2))
    last = np.abs(half - values)
    return np.maximum(_next_fall(np.abs(quarter - half), last), np.minimum(distance_to_exact(values, residuals), last))


def _next_fall(before: Float[np.ndarray, " n"], last: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The sum of a geometric series, or a doubling that gains half the digits of the one before, if that is more.

    At most the last fall. One that is small by chance counts as those beside it.

    >>> _next_fall(np.array([1.0, 1.0]), np.array([1e-4, 0.4])).round(7)
    array([0.2666667, 0.2666667])
    >>> _next_fall(np.array([1.0]), np.array([1e-4]))
    array([1.e-06])
    """
    ratio = last / np.maximum(before, np.finfo(float).tiny)
    share = np.maximum(np.sqrt(ratio), ratio / (1 - np.minimum(ratio, 0.5)))
    return maximum_filter1d(last * np.minimum(share, 1), 3)


def _rotated(
    sigma: Float[np.ndarray, "g n n"], pi: Float[np.ndarray, "g n n"], squared: Float[np.ndarray, "g n n"]
) -> RitzModes:
    """Functions turned into orthonormal ones with diagonal Λ, from the moments of g groups of samples.

    To first order a Rayleigh quotient moves with E[w v (K v − λ v)], whose scatter between groups is its error.
    Functions that are not even independent have infinite residuals.
    """
    try:
        values, rotation = combine(sigma.mean(0), pi.mean(0))
    except SingularMomentsError:
        n = sigma.shape[1]
        return RitzModes(np.zeros(n), np.eye(n), np.full(n, np.inf), np.full(n, np.inf))

    def diagonals(matrices: Float[np.ndarray, "g n n"]) -> Float[np.ndarray, "g n"]:
        return np.einsum("in,gij,jn->gn", rotation, matrices, rotation)

    influence = diagonals(pi) - values * diagonals(sigma)
    norms = diagonals(squared) - 2 * values * diagonals(pi) + values**2 * diagonals(sigma)
    scatter = np.sqrt(len(sigma))
    resolution = norms.std(0, ddof=1) / scatter
    residuals = np.sqrt(np.maximum(norms.mean(0), resolution))
    return RitzModes(values, rotation, influence.std(0, ddof=1) / scatter, residuals)


def _scattered(rows: Float[np.ndarray, "s n"], places: Bool[np.ndarray, " f"]) -> Float[np.ndarray, "f n"]:
    """Rows put at their places among zeros."""
    whole_matrix = np.zeros((len(places), rows.shape[1]))
    whole_matrix[places] = rows
    return whole_matrix


def errors(
    function: Function, values: Float[np.ndarray, " n"], operator: Operator, samples: FreshSamples
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Standard errors and residual norms ‖(K − λ) v‖ of orthonormal functions.

    To first order a Rayleigh quotient moves with E[w v (K v − λ v)], which has no scatter at an eigenfunction.
    A residual too small for the samples to tell from zero is given as what they could tell, and is NaN where they
    tell nothing: pairs of points without a third.
    """

    def of_batch(batch: Batch, function: Function) -> tuple[Array, Array]:
        v = jax.vmap(function)(batch.x)
        expected = jnp.asarray(values, v.dtype) * v
        influence = batch.weights[:, None] * v * (operator.apply(function, batch, v) - expected)
        twice = operator.twice(function, batch, v)
        squared = twice.weights[:, None] * (twice.first - expected) * (twice.second - expected)
        total_weight = twice.weights.sum() / batch.weights.mean()
        return influence.mean(0), squared.sum(0) / total_weight

    influence, squared = samples.map(of_batch, function)
    standard_errors = influence.std(0, ddof=1) / np.sqrt(len(influence))
    resolution = squared.std(0, ddof=1) / np.sqrt(len(squared))
    return standard_errors, np.sqrt(np.maximum(squared.mean(0), resolution))

"""From a trained network to modes: everything measured on samples that training never saw."""

import dataclasses
from collections.abc import Callable
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from eigenax.checks import as_seed, check_choice, whole
from eigenax.core.batch import Batch
from eigenax.core.precision import full_precision
from eigenax.core.rayleigh import second_moment
from eigenax.core.ritz import Finish, combine
from eigenax.modes import Modes, Which
from eigenax.operators.base import Function, Operator
from eigenax.sources.base import Source
from eigenax.training.progress import progress_track

BATCHES = 64
"""Standard errors are the scatter between this many batches."""


def measure(
    network: Any,
    operator: Operator,
    source: Source,
    *,
    which: Which = "smallest",
    finish: Finish = "rotate",
    samples: int = 2**17,
    seed: int = 0,
    steps: int = 0,
    progress: bool = False,
) -> Modes:
    """Orthonormalise, order and measure the functions of a network on fresh samples of a source.

    Also for a network trained otherwise: on another source of the same inner product, or with exact derivatives
    after finite differences. The sign of each function makes its largest value positive.
    """
    check_choice("which", which, get_args(Which))
    check_choice("finish", finish, get_args(Finish))
    samples, seed = whole("samples", samples), as_seed(seed)
    # 0 and 1 folded into the seed's key are for the network and its training.
    for_moments, for_errors = (FreshSamples(source, seed, purpose, samples, progress) for purpose in (2, 3))
    sign = 1 if which == "smallest" else -1
    values, coefficients = combine(*moments(network, operator, for_moments), finish=finish, sign=sign)
    unknown = np.full_like(values, np.nan)
    modes = Modes(network, coefficients, values, unknown, unknown, source.shape, which, steps, seed)
    standard_errors, residuals, signs = errors(modes.at_point, values, operator, for_errors)
    return dataclasses.replace(
        modes, coefficients=coefficients * signs, standard_errors=standard_errors, residuals=residuals
    )


@dataclasses.dataclass(frozen=True)
class FreshSamples:
    """Batches of a source that depend on seed and purpose alone."""

    source: Source
    seed: int
    purpose: int
    samples: int
    progress: bool = False

    def map(self, function: Callable[[Batch], tuple[Array, ...]]) -> list[np.ndarray]:
        """A compiled function of every batch, its results stacked in float64."""
        size = max(4, self.samples // BATCHES)
        key = jax.random.fold_in(jax.random.key(self.seed), self.purpose)

        @jax.jit  # with the source as an argument: its data must not become a constant of the program
        def compiled(source: Source, index: Int[Array, ""]) -> tuple[Array, ...]:
            return function(source.sample(jax.random.fold_in(key, index), size))

        indices = progress_track(range(BATCHES), "measuring", show=self.progress)
        with full_precision():
            rows = [compiled(self.source, jnp.asarray(index)) for index in indices]
        return [np.stack([np.asarray(part, np.float64) for part in parts]) for parts in zip(*rows, strict=True)]


def moments(function: Function, operator: Operator, samples: FreshSamples) -> list[Float[np.ndarray, "k k"]]:
    """Σ and Π of functions."""

    def of_batch(batch: Batch) -> tuple[Array, Array]:
        u = jax.vmap(function)(batch.x)
        ku = operator.apply(function, batch, u)
        return second_moment(u, u, batch.weights), second_moment(u, ku, batch.weights)

    return [part.mean(0) for part in samples.map(of_batch)]


def errors(
    function: Function, values: Float[np.ndarray, " n"], operator: Operator, samples: FreshSamples
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Standard errors, residual norms ‖(K − λ) v‖ and the sign of the largest value, of orthonormal functions.

    To first order a Rayleigh quotient moves with E[w v (K v − λ v)], which has no scatter at an eigenfunction.
    A residual too small for the samples to tell from zero is given as what they could tell, and is NaN where they
    tell nothing: pairs of points without a third.
    """

    def of_batch(batch: Batch) -> tuple[Array, Array, Array]:
        v = jax.vmap(function)(batch.x)
        expected = jnp.asarray(values, v.dtype) * v
        influence = batch.weights[:, None] * v * (operator.apply(function, batch, v) - expected)
        twice = operator.twice(function, batch, v)
        squared = twice.weights[:, None] * (twice.first - expected) * (twice.second - expected)
        largest = jnp.take_along_axis(v, jnp.abs(v).argmax(0, keepdims=True), 0)[0]
        total_weight = twice.weights.sum() / batch.weights.mean()
        return influence.mean(0), squared.sum(0) / total_weight, largest

    influence, squared, largest = samples.map(of_batch)
    peaks = np.take_along_axis(largest, np.abs(largest).argmax(0, keepdims=True), 0)[0]
    standard_errors = influence.std(0, ddof=1) / np.sqrt(len(influence))
    resolution = squared.std(0, ddof=1) / np.sqrt(len(squared))
    return standard_errors, np.sqrt(np.maximum(squared.mean(0), resolution)), np.where(peaks < 0, -1.0, 1.0)

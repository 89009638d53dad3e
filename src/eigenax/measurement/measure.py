"""From a network to modes."""

from functools import partial
from typing import Any, get_args

from eigenax.checks import as_seed, check_choice, positive_int
from eigenax.core.precision import Precision
from eigenax.core.random_streams import Stream
from eigenax.core.ritz import Finish, combine, distance_to_exact
from eigenax.measurement.on_samples import errors, moments, signs
from eigenax.measurement.ritz import ritz
from eigenax.measurement.solution import Solution
from eigenax.modes import Modes, Which
from eigenax.networks.base import hidden_layer
from eigenax.networks.combined import combined
from eigenax.operators.base import Operator
from eigenax.samples import BATCHES, FreshSamples
from eigenax.sources.uniform import as_source

FRESH = 2**17
"""The default number of fresh points that a trained network is measured on."""


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

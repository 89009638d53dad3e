"""Early stopping: held-out data tell which network of a training run to keep, and when no better one will come."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.bases.cross_validation import NOISE, Elsewhere, with_held_out_values
from eigenax.core.batch import Batch, Function
from eigenax.core.compiled import compiled
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.core.ritz import combine
from eigenax.errors import SingularMomentsError
from eigenax.measurement.solution import Solution
from eigenax.modes import Modes
from eigenax.networks.combined import combined
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.sources.base import Source

BATCHES = 4
"""Batches of training data, and as many of held-out data, on which networks are compared; always the same ones."""
FINAL_BATCHES = 64
"""Batches on which final eigenvalues are measured, where held-out data have no order in time."""
FINAL_BATCH_SIZE = 256
"""Draws in each of these batches."""
EMA_RATE = 0.2
"""The rate of the moving average of the scores, which are noisy."""
TOLERANCE = 0.05
"""The latest network is kept whose averaged score exceeds the lowest one by at most this, which chance explains."""
PATIENCE = 0.25
"""Training ends when no network has been kept for this share of all steps."""
LEAST_PATIENCE = 100
"""Training never ends before this many steps without a network that is kept."""


class BestNetwork(NamedTuple):
    """The latest network that did about as well as any on held-out data."""

    network: Any
    step: Int[np.ndarray, ""]
    mean: Float[np.ndarray, ""]
    """The moving average of the scores on held-out data."""
    lowest: Float[np.ndarray, ""]
    """The lowest moving average so far."""

    @classmethod
    def of(cls, network: Any) -> "BestNetwork":
        """The initial network, before any score."""
        return cls(network, np.array(0), np.array(np.inf), np.array(np.inf))

    def after(self, network: Any, score: float, step: int) -> "BestNetwork":
        """The network to keep after this one with its score: this one, or the one kept before.

        >>> first = BestNetwork.of("first").after("first", 1.0, 1)
        >>> first.after("as good", 1.2, 2).network, first.after("worse", 2.0, 2).network
        ('as good', 'first')
        """
        if not np.isfinite(score):
            return self
        mean = score if np.isinf(self.mean) else self.mean + EMA_RATE * (score - self.mean)
        lowest = min(mean, float(self.lowest))
        kept = self._replace(mean=np.array(mean), lowest=np.array(lowest))
        return kept._replace(network=network, step=np.array(step)) if mean - lowest <= TOLERANCE else kept

    def has_gone_stale(self, step: int, total: int) -> bool:
        """Whether training should end, since no network was kept for long; never if no score was ever finite."""
        return bool(self.step > 0 and step - self.step > max(PATIENCE * total, LEAST_PATIENCE))


def quotients(
    network: Function, operator: Operator, seen: Source, held_out: Source, key: PRNGKeyArray, size: int
) -> Float[np.ndarray, " n"]:
    """Rayleigh quotients on `held_out` data of the functions that are orthonormal and in order on `seen` data.

    They are infinite where the functions are not independent. If the first function of the operator is constant, it is
    left out, and the others are measured about their means on held-out data: the usual slowness of a series.
    """
    both = (_moments(network, operator, source, key, size) for source in (seen, held_out))
    on_seen, on_held_out = ([np.asarray(part, np.float64) for part in parts] for parts in both)
    try:
        coefficients = combine(on_seen[0], on_seen[1]).coefficients
    except SingularMomentsError:
        return np.full(len(on_seen[0]), np.inf)
    sigma, pi = (coefficients.T @ part @ coefficients for part in on_held_out)
    squares, values = np.diag(sigma), np.diag(pi)
    if operator.fixes_constants:
        means = sigma[0] / np.sqrt(sigma[0, 0])
        squares, values = (squares - means**2)[1:], values[1:]
    return np.where(squares > 0, values / np.where(squares > 0, squares, 1), np.inf)


def score(values: Float[np.ndarray, " n"]) -> float:
    """The mean of sign(λ) log|λ| over Rayleigh quotients λ; lower is better.

    The logarithm makes a relative change count the same for each function, however slow. The score is infinite if a
    function does not vary or does not change.

    >>> round(score(np.array([0.1, 1.0, 10.0])), 6) + 0.0
    0.0
    >>> score(np.array([-2.0])) < score(np.array([-1.0]))
    True
    """
    if not (np.isfinite(values) & (values != 0)).all():
        return np.inf
    return float((np.sign(values) * np.log(np.abs(values))).mean())


def measured_on_held_out(problem: Problem, modes: Modes, held_out: Source) -> Modes:
    """The modes with eigenvalues measured on held-out data and sorted by these; training values are kept beside them.

    A function that varies more slowly than the held-out data last is measured about its mean on the training data.
    """
    constants = int(problem.operator.fixes_constants)  # a known constant function comes first
    one, rest = modes[:constants], modes[constants:]
    measured = _held_out_values(problem, rest, held_out)
    if measured is None:
        nothing = "the data held out do not vary, so that eigenvalues are those of training data"
        return dataclasses.replace(modes, note=" ".join(filter(None, (modes.note, nothing))))
    found = Solution(
        problem.sign * rest.eigenvalues, rest.coefficients, rest.sampling_errors, rest.basis_errors, rest.residuals
    )
    factor = problem.sign * (problem.operator.differences or 0)
    found = with_held_out_values(found, measured, NOISE * factor if factor > 0 else None)
    assert found.training_values is not None, "they were just set"
    return dataclasses.replace(
        modes,
        coefficients=np.concatenate([one.coefficients, found.coefficients], 1),
        eigenvalues=np.append(one.eigenvalues, problem.sign * found.values),
        training_eigenvalues=np.append(one.eigenvalues, problem.sign * found.training_values),
        sampling_errors=np.append(one.sampling_errors, found.sampling_errors),
        basis_errors=np.append(one.basis_errors, found.basis_errors),
        residuals=np.append(one.residuals, found.residuals),
        next_eigenvalue=None,  # the one known is of the training data
        note=" ".join(filter(None, (modes.note, found.note))),
    )


def _held_out_values(problem: Problem, modes: Modes, held_out: Source) -> Elsewhere | None:
    """Rayleigh quotients over all held-out data, or over draws where these have no order in time.

    None if the functions do not vary there.
    """
    operands = combined(modes.network, modes.coefficients), problem.descending
    batches = held_out.in_order
    with precision_scope(modes.precision, at_least=True), full_precision():
        if batches is None:
            key = stream(problem.seed, Stream.ELSEWHERE)
            batches = (held_out.sample(jax.random.fold_in(key, k), FINAL_BATCH_SIZE) for k in range(FINAL_BATCHES))
        parts = [[np.asarray(part, np.float64) for part in _sums(batch, *operands)] for batch in batches]
    products, squares, weights = (np.stack(part) for part in zip(*parts, strict=True))
    measured = Elsewhere.of(products / weights.mean(), squares / weights.mean())
    varies = squares.any() and np.isfinite(measured.values).all() and (measured.values != 0).all()
    return measured if varies else None


@compiled
def _sums(
    batch: Batch, function: Function, operator: Operator
) -> tuple[Float[Array, " n"], Float[Array, " n"], Float[Array, ""]]:
    """Weighted sums of v K v and v² over the points of a batch, and the sum of the weights."""
    v = jax.vmap(function)(batch.x)
    w = batch.weights[:, None]
    return (w * v * operator.apply(function, batch, v)).sum(0), (w * v**2).sum(0), w.sum()


@compiled
def _moments(
    network: Function, operator: Operator, source: Source, key: PRNGKeyArray, size: int
) -> tuple[Float[Array, "k k"], Float[Array, "k k"]]:
    def of_batch(number: Array) -> tuple[Array, Array]:
        sigma, pi, _ = operator.moments(network, source.sample(jax.random.fold_in(key, number), size))
        return sigma, pi

    sigma, pi = jax.lax.map(of_batch, jnp.arange(BATCHES))
    return sigma.mean(0), pi.mean(0)

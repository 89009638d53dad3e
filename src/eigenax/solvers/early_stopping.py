"""Training that is judged by data it never sees: the network to keep, and when there will be no better one."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.bases.cross_validation import NOISE, Elsewhere
from eigenax.core.batch import Batch, Function
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.core.ritz import combine
from eigenax.errors import SingularMomentsError
from eigenax.modes import Modes, combined
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.sources.base import Source

BATCHES = 4
"""Of the data seen and of those held out, always the same, that networks are compared on."""
SAMPLED, DRAWS = 64, 256
"""Batches that values are measured on, and draws in each, where held-out data have no order in time."""
RATE = 0.2
"""By how much the running mean of what is measured there, which is noisy, follows each look."""
AS_WELL = 0.05
"""Of networks that are worse by no more than this share, as they are by chance, the latest one is kept."""
PATIENCE, LEAST_PATIENCE = 0.25, 100
"""Training that goes on for this share of its steps, and this many, without doing as well there has ended."""


class BestNetwork(NamedTuple):
    """The latest network that did about as well as any on held-out data."""

    network: Any
    step: Int[np.ndarray, ""]
    mean: Float[np.ndarray, ""]
    """The running mean of what was measured there."""
    lowest: Float[np.ndarray, ""]
    """The lowest it has been."""

    @classmethod
    def of(cls, network: Any) -> "BestNetwork":
        """Before anything was measured."""
        return cls(network, np.array(0), np.array(np.inf), np.array(np.inf))

    def after(self, network: Any, score: float, step: int) -> "BestNetwork":
        """This network or another one, which has this score.

        >>> first = BestNetwork.of("first").after("first", 1.0, 1)
        >>> first.after("as good", 1.2, 2).network, first.after("worse", 2.0, 2).network
        ('as good', 'first')
        """
        if not np.isfinite(score):
            return self
        mean = score if np.isinf(self.mean) else self.mean + RATE * (score - self.mean)
        lowest = min(mean, float(self.lowest))
        kept = self._replace(mean=np.array(mean), lowest=np.array(lowest))
        return kept._replace(network=network, step=np.array(step)) if mean - lowest <= AS_WELL else kept

    def is_long_ago(self, step: int, total: int) -> bool:
        """Whether there will be no network that does as well; never where held-out data tell nothing."""
        return bool(self.step > 0 and step - self.step > max(PATIENCE * total, LEAST_PATIENCE))


def quotients(
    network: Function, operator: Operator, seen: Source, held_out: Source, key: PRNGKeyArray, size: int
) -> Float[np.ndarray, " n"]:
    """Rayleigh quotients on held-out data of the functions that are orthonormal and in order on those seen, infinite
    where they cannot be told apart.

    Where the operator has constants for its first function, they are without it and without their mean there: the
    slowness that is measured of any series.
    """
    both = (_moments(network, operator, source, key, size) for source in (seen, held_out))
    there, elsewhere = ([np.asarray(part, np.float64) for part in parts] for parts in both)
    try:
        coefficients = combine(there[0], there[1]).coefficients
    except SingularMomentsError:
        return np.full(len(there[0]), np.inf)
    sigma, pi = (coefficients.T @ part @ coefficients for part in elsewhere)
    squares, values = np.diag(sigma), np.diag(pi)
    if operator.fixes_constants:
        means = sigma[0] / np.sqrt(sigma[0, 0])
        squares, values = (squares - means**2)[1:], values[1:]
    return np.where(squares > 0, values / np.where(squares > 0, squares, 1), np.inf)


def score(values: Float[np.ndarray, " n"]) -> float:
    """The mean of their logarithms, with the sign of each: a feature that is ten times slower than the next one matters
    as much. Less is better; infinite where one does not vary or change.

    >>> round(score(np.array([0.1, 1.0, 10.0])), 6) + 0.0
    0.0
    >>> score(np.array([-2.0])) < score(np.array([-1.0]))
    True
    """
    if not (np.isfinite(values) & (values != 0)).all():
        return np.inf
    return float((np.sign(values) * np.log(np.abs(values))).mean())


def with_values_elsewhere(problem: Problem, modes: Modes, held_out: Source) -> Modes:
    """The modes with their values on held-out data, in order of these, the values of training beside them.

    A function that varies more slowly than these data are long is measured about its mean where it was trained.
    """
    known = int(problem.operator.fixes_constants)  # the constant, which is first
    found = modes[known:]
    there = _elsewhere(problem, found, held_out)
    if there is None:
        nothing = "data that were held out do not vary, and told nothing"
        return dataclasses.replace(modes, note=" ".join(filter(None, (modes.note, nothing))))
    training, order = problem.sign * found.eigenvalues, np.argsort(there.values)
    there, factor = Elsewhere(*(part[order] for part in there)), problem.sign * (problem.operator.differences or 0)
    noise = NOISE * factor if factor > 0 else None
    note = " ".join(filter(None, (modes.note, there.note(training[order], noise))))
    apart = np.fmax(found.basis_errors[order], np.abs(there.values - training[order]))
    columns = np.append(np.arange(known), known + order)

    def with_constant(name: str, rest: np.ndarray) -> np.ndarray:
        return np.append(getattr(modes, name)[:known], rest)

    return dataclasses.replace(
        modes,
        coefficients=modes.coefficients[:, columns],
        eigenvalues=with_constant("eigenvalues", problem.sign * there.values),
        training_eigenvalues=modes.eigenvalues[columns],
        sampling_errors=with_constant("sampling_errors", there.scatter),
        basis_errors=with_constant("basis_errors", apart),
        residuals=modes.residuals[columns],
        note=note,
    )


def _elsewhere(problem: Problem, modes: Modes, held_out: Source) -> Elsewhere | None:
    """Over all of the data, or over draws where these have no order; nothing if they tell nothing."""
    operands = combined(modes.network, modes.coefficients), problem.descending
    batches = held_out.in_order
    with precision_scope(modes.precision, at_least=True), full_precision():
        if batches is None:
            key = stream(problem.seed, Stream.ELSEWHERE)
            batches = (held_out.sample(jax.random.fold_in(key, k), DRAWS) for k in range(SAMPLED))
        parts = [[np.asarray(part, np.float64) for part in _sums(batch, *operands)] for batch in batches]
    products, squares, weights = (np.stack(part) for part in zip(*parts, strict=True))
    there = Elsewhere.of(products / weights.mean(), squares / weights.mean())
    varies = squares.any() and np.isfinite(there.values).all() and (there.values != 0).all()
    return there if varies else None


@eqx.filter_jit
def _sums(
    batch: Batch, function: Function, operator: Operator
) -> tuple[Float[Array, " n"], Float[Array, " n"], Float[Array, ""]]:
    """Of v K v and v² over the points of a batch, and of their weights."""
    v = jax.vmap(function)(batch.x)
    w = batch.weights[:, None]
    return (w * v * operator.apply(function, batch, v)).sum(0), (w * v**2).sum(0), w.sum()


@eqx.filter_jit
def _moments(
    network: Function, operator: Operator, source: Source, key: PRNGKeyArray, size: int
) -> tuple[Float[Array, "k k"], Float[Array, "k k"]]:
    def of_batch(number: Array) -> tuple[Array, Array]:
        sigma, pi, _ = operator.moments(network, source.sample(jax.random.fold_in(key, number), size))
        return sigma, pi

    sigma, pi = jax.lax.map(of_batch, jnp.arange(BATCHES))
    return sigma.mean(0), pi.mean(0)

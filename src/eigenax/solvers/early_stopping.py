"""Training that is judged by data it never sees: the network to keep, and when there will be no better one."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.core.batch import Function
from eigenax.core.ritz import combine
from eigenax.errors import SingularMomentsError
from eigenax.operators.base import Operator
from eigenax.sources.base import Source

BATCHES = 4
"""Of the data seen and of those held out, always the same, that networks are compared on."""
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


@eqx.filter_jit
def _moments(
    network: Function, operator: Operator, source: Source, key: PRNGKeyArray, size: int
) -> tuple[Float[Array, "k k"], Float[Array, "k k"]]:
    def of_batch(number: Array) -> tuple[Array, Array]:
        sigma, pi, _ = operator.moments(network, source.sample(jax.random.fold_in(key, number), size))
        return sigma, pi

    sigma, pi = jax.lax.map(of_batch, jnp.arange(BATCHES))
    return sigma.mean(0), pi.mean(0)

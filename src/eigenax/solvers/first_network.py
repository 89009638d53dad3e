"""The first network in many dimensions: an envelope of least variance, and a Rayleigh–Ritz step for the outputs."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.core.compiled import compiled
from eigenax.core.random_streams import Stream, stream
from eigenax.core.rayleigh import second_moment
from eigenax.locate.least_variance import least_variance
from eigenax.networks.ansatz import Ansatz
from eigenax.networks.base import Multiply, hidden_layer
from eigenax.operators.base import Operator
from eigenax.solvers.outputs import ansatz_of, lowest_outputs, with_outputs
from eigenax.sources.markov_chains import MarkovChains

POINTS_PER_FEATURE = 64
"""Points of the Rayleigh–Ritz step for each feature."""


def with_least_variance(
    operator: Operator, network: Any, x: Float[np.ndarray, "b d"], weights: Float[np.ndarray, " b"]
) -> Any:
    """The network with the envelope whose local energy varies least over weighted points."""
    ansatz = ansatz_of(network)
    assert ansatz is not None, "it was made so"
    factor = network.factor if isinstance(network, Multiply) else None
    units = len(ansatz.biases[-1])
    flat, unravel = ravel_pytree((ansatz.exponent[units:], ansatz.quadratic))

    def with_coefficients(theta: Float[Array, " p"]) -> Ansatz:
        exponent, quadratic = unravel(theta)
        exponent = jnp.concatenate([jnp.zeros(units, exponent.dtype), exponent])
        return eqx.tree_at(lambda a: (a.exponent, a.quadratic), ansatz, (exponent, quadratic))

    def log_of(theta: Float[Array, " p"], x: Float[Array, " d"]) -> Float[Array, ""]:
        log = with_coefficients(theta).log_envelope(x)
        return log if factor is None else log + jnp.log(factor(x))

    theta = least_variance(operator, log_of, np.asarray(flat, np.float64), x, weights)
    found = with_coefficients(jnp.asarray(theta, flat.dtype))
    return found if factor is None else Multiply(factor, found)


def first_network(
    operator: Operator,
    network: Any,
    chains: MarkovChains,
    x: Float[np.ndarray, "b d"],
    weights: Float[np.ndarray, " b"],
    outputs: int,
    batch: int,
    seed: int,
) -> tuple[Any, Float[Array, "c d"]]:
    """The network with the best envelope and outputs for these weighted points, and where its chains ended.

    Whether an envelope of least variance is better than the Gaussian is told by the values on its own chains: what
    grows beyond the points may vary little on them, but it is no bound state.
    """
    fitted = with_least_variance(operator, network, x, weights)
    found = [with_lowest_outputs(operator, each, chains, outputs, batch, seed) for each in (network, fitted)]
    _, best, ends = min(found, key=lambda one: np.nan_to_num(one[0], nan=np.inf))
    return best, ends


def with_lowest_outputs(
    operator: Operator, network: Any, chains: MarkovChains, outputs: int, batch: int, seed: int
) -> tuple[float, Any, Float[Array, "b d"]]:
    """The network with the best combinations of its features as outputs, after their sum, and where chains ended."""
    features = hidden_layer(network)
    key = stream(seed, Stream.FIRST_OUTPUTS)
    state = chains.begun(features, key, batch)
    count = jax.eval_shape(features, state.x[0]).shape[0]
    draws = -(-POINTS_PER_FEATURE * count // batch)
    state, sigma, pi = _feature_moments(operator, features, chains, state, key, draws)
    sigma, pi = np.asarray(sigma, np.float64), np.asarray(pi, np.float64)
    if not (np.isfinite(sigma).all() and np.isfinite(pi).all()):
        return np.inf, network, state.x
    values, outputs_of_features = lowest_outputs(sigma, pi, outputs)
    return float(values.sum()), with_outputs(network, outputs_of_features), state.x


@compiled
def _feature_moments(
    operator: Operator, features: Any, chains: MarkovChains, state: Any, key: PRNGKeyArray, draws: int
) -> tuple[Any, Array, Array]:
    """Σ and Π of the features on several draws of the chains, after those that forget the first positions."""
    unused, count = chains.burn_in, jax.eval_shape(features, state.x[0]).shape[0]

    def draw(before: tuple[Any, Array, Array], now: tuple[PRNGKeyArray, Array]) -> tuple[Any, None]:
        (state, sigma, pi), (key, share) = before, now
        state, batch = chains.draw(state, features, key, len(state.x))
        u = jax.vmap(features)(batch.x)
        ku = operator.apply(features, batch, u)
        sigma = sigma + share * second_moment(u, u, batch.weights)
        return (state, sigma, pi + share * second_moment(u, ku, batch.weights)), None

    zeros = jnp.zeros((count, count), state.x.dtype)
    shares = jnp.where(jnp.arange(unused + draws) < unused, 0, 1 / draws).astype(zeros.dtype)
    keys = jax.random.split(key, unused + draws)
    return jax.lax.scan(draw, (state, zeros, zeros), (keys, shares))[0]

"""The outputs of a network that are the best combinations of its features: a Rayleigh–Ritz step."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from eigenax.core.ritz import lowest
from eigenax.networks.ansatz import Ansatz
from eigenax.networks.base import Multiply

INDEPENDENT = 1e-3
"""A feature is left out if less than this share of its variance is not explained by those before it: moments come from
chains in float32."""


def ansatz_of(network: Any) -> Ansatz | None:
    """The `Ansatz` that a network is, or that it is a factor times; None if it is none."""
    inner = network.network if isinstance(network, Multiply) else network
    return inner if isinstance(inner, Ansatz) else None


def with_outputs(network: Any, outputs: Float[np.ndarray, "k f"]) -> Any:
    """The same features with another read-out."""
    ansatz = ansatz_of(network)
    assert ansatz is not None, "asked of such networks only"
    return eqx.tree_at(ansatz_of, network, ansatz.with_outputs(jnp.asarray(outputs)))


def lowest_outputs(
    sigma: Float[np.ndarray, "f f"], pi: Float[np.ndarray, "f f"], count: int
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k f"]]:
    """The lowest values in the span of features with these moments, and the read-outs that have them.

    Π is not symmetrised: a feature that is an eigenfunction is then found without noise. The envelope itself is the
    last feature and is taken first, then the inputs and their products. Principal components would mix what is an
    eigenfunction already with all others.

    >>> lowest_outputs(np.eye(3), np.diag([3.0, 2.0, 1.0]), 2)[0]
    array([1., 2.])
    """
    order = _independent(sigma, count)
    best = lowest(sigma[np.ix_(order, order)], pi[np.ix_(order, order)], count, [0.0])[0]
    outputs = np.zeros((count, len(sigma)))
    outputs[:, order] = best.coefficients.T / np.sqrt(np.mean(best.coefficients**2))
    return best.values, outputs


def _independent(sigma: Float[np.ndarray, "f f"], least: int) -> Int[np.ndarray, " m"]:
    """The features, from the last to the first, that those before them do not explain; at least so many."""
    scale = 1 / np.sqrt(np.maximum(np.diag(sigma), np.finfo(float).tiny))
    left, kept = sigma * scale[:, None] * scale, []
    for feature in range(len(left))[::-1]:
        if left[feature, feature] > INDEPENDENT:
            kept.append(feature)
            left = left - np.outer(left[:, feature], left[feature]) / left[feature, feature]
    return np.array(kept if len(kept) >= least else np.argsort(-np.diag(sigma), kind="stable")[:least])

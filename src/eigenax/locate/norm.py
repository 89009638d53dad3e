"""The norm of functions that are known on Markov chains, by bridge sampling against a density fitted to the chains."""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import solve_triangular

from eigenax.core.bridge import Integral, bridge
from eigenax.core.compiled import compiled
from eigenax.core.precision import full_precision, precision_scope
from eigenax.domains.box import Box
from eigenax.sources.markov_chains import ChainState, MarkovChainPoints, log_density

BINS = 24
"""Bins of the histograms along bounded axes."""


class Fitted(NamedTuple):
    """A Gaussian along the open axes of a box, times a histogram along each of the others."""

    box: Box
    open_axes: Float[np.ndarray, " d"]
    """Whether each axis is open: Dirichlet at both faces."""
    mean: Float[np.ndarray, " m"]
    root: Float[np.ndarray, "m m"]
    """A Cholesky factor of the covariance."""
    shares: Float[np.ndarray, "a bins"]
    """Probabilities of the bins of each bounded axis."""

    @classmethod
    def to(cls, x: Float[np.ndarray, "b d"], box: Box) -> "Fitted":
        """The density with the mean and covariance, or the histograms, of these points."""
        is_open = box.open_axes
        inside = x[:, is_open]
        covariance = np.cov(inside.T).reshape(inside.shape[1], inside.shape[1]) if inside.shape[1] else np.zeros((0, 0))
        t = (x[:, ~is_open] - np.array(box.low)[~is_open]) / (2 * box.half_width[~is_open])
        counts = [np.bincount(np.minimum((BINS * one).astype(int), BINS - 1), minlength=BINS) + 1.0 for one in t.T]
        shares = np.array([one / one.sum() for one in counts]).reshape(-1, BINS)
        root = np.linalg.cholesky(covariance) if len(covariance) else covariance
        return cls(box, is_open, inside.mean(0), root, shares)

    def draw(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "c d"]:
        """Points of this density; some may lie outside the box."""
        x = np.empty((count, len(self.open_axes)))
        x[:, self.open_axes] = self.mean + rng.normal(size=(count, len(self.mean))) @ self.root.T
        low, width = np.array(self.box.low)[~self.open_axes], 2 * self.box.half_width[~self.open_axes]
        for place, axis in enumerate(np.flatnonzero(~self.open_axes)):
            bins = rng.choice(BINS, count, p=self.shares[place])
            x[:, axis] = low[place] + width[place] * (bins + rng.random(count)) / BINS
        return x

    def log(self, x: Float[np.ndarray, "b d"]) -> Float[np.ndarray, " b"]:
        """The logarithm of this density."""
        away = x[:, self.open_axes] - self.mean
        total = np.zeros(len(x))
        if len(self.mean):
            z = solve_triangular(self.root, away.T, lower=True)
            total += -0.5 * (z**2).sum(0) - np.log(np.diag(self.root)).sum() - len(z) / 2 * np.log(2 * np.pi)
        low, width = np.array(self.box.low)[~self.open_axes], 2 * self.box.half_width[~self.open_axes]
        bins = np.clip((BINS * (x[:, ~self.open_axes] - low) / width).astype(int), 0, BINS - 1)
        for place, shares in enumerate(self.shares):
            total += np.log(shares[bins[:, place]] * BINS / width[place])
        return total


def norm_of(points: MarkovChainPoints, x: Float[np.ndarray, "b d"], seed: int) -> Integral:
    """log of ∫ ρ over the volume of the box, and its standard error, from points x with the density ρ."""
    box = points.domain.box
    with precision_scope("float64"), full_precision():
        fitted = Fitted.to(x[::2], box)
        drawn = fitted.draw(len(x[1::2]), np.random.default_rng(seed))
        low, high = np.asarray(box.low), np.asarray(box.high)
        inside = ((drawn > low) & (drawn < high)).all(1)
        at_chain, at_drawn = (
            np.asarray(_log_densities(points, jnp.asarray(each)), np.float64)
            for each in (x[1::2], np.clip(drawn, low, high))
        )
        at_drawn = np.where(inside, at_drawn, -1e4)
    found = bridge(at_chain, fitted.log(x[1::2]), at_drawn, fitted.log(drawn))
    return Integral(found.log - float(np.log(2 * box.half_width).sum()), found.error)


def with_norm(points: MarkovChainPoints, x: Float[np.ndarray, "b d"], seed: int) -> tuple[MarkovChainPoints, Integral]:
    """The same source with weights that make means those of the domain, and the norm, told by its points x."""
    found = norm_of(points, x, seed)
    return dataclasses.replace(points, log_norm=found.log), found


@compiled
def _log_densities(points: MarkovChainPoints, x: Float[Array, "b d"]) -> Float[Array, " b"]:
    whitening = jnp.asarray(ChainState(*points.state).whitening, x.dtype)

    def at(y: Array) -> Array:
        return log_density(points.functions, whitening, y)[0] + jnp.log(points.domain.importance_weights(y[None])[0])

    return jax.lax.map(at, x, batch_size=1024)

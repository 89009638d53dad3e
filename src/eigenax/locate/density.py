"""Density estimates: weighted points that say where the states are, and a source that draws points there."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.compiled import compiled, for_one_run
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.domains.box import Box
from eigenax.locate.clusters import clusters_of
from eigenax.networks.boundary import OffsetFrom
from eigenax.sources.base import Source
from eigenax.sources.densities import Gaussian, LogUniformRadius
from eigenax.sources.drawn import drawn
from eigenax.sources.mixture import Mixture

DENSITY_POINTS = 4096
"""Points of a density estimate."""
UNIFORM_SHARE = 0.2
"""The share of points drawn uniformly in the box, of those that are not drawn around singularities."""
NUCLEAR_SHARE = 0.6
"""The share of points drawn around singularities, if there are any."""
WIDENED = 1.3
"""The width of the Gaussian that points are drawn from, over that of the states: tails matter, and too few points there
cost more than too many."""
LOCALISED = 0.5
"""States whose standard deviation along some axis is below this share of the box's get a Gaussian of their own."""


class DensityEstimate(NamedTuple):
    """Where the states are: points, and the probability of each of them under the states."""

    points: Any
    """(b, d)"""
    ground: Any
    """The probability of each point under the ground state, (b,); sums to one."""
    states: Any
    """The mean of these probabilities over all states, (b,); sums to one."""
    slopes: Any
    """The same for ∇v ∇vᵀ where `states` is for v², (b, d, d); zero while the gradients are unknown."""
    guessed: Any
    """One at points where states may be but are not known to be, zero at the others, (b,)."""


class MeanAndCovariance(NamedTuple):
    """The mean (m,) and the covariance (m, m) of coordinates."""

    mean: Float[np.ndarray, " m"]
    covariance: Float[np.ndarray, "m m"]


def anywhere_in(source: Source) -> DensityEstimate:
    """The density of the source itself: while nothing is known, states could be anywhere it draws points."""
    batch = drawn(source, jax.random.key(0), DENSITY_POINTS, True, jnp.asarray(0))
    return from_ground_state(np.asarray(batch.x, np.float64), np.asarray(batch.weights, np.float64))


def from_ground_state(points: Float[np.ndarray, "b d"], weights: Float[np.ndarray, " b"]) -> DensityEstimate:
    """The estimate from weighted points of the density |ground state|², which stands for all states at first."""
    shares, dims = weights / weights.sum(), points.shape[1]
    return DensityEstimate(points, shares, shares, np.zeros((len(points), dims, dims)), np.zeros(len(points)))


def with_others(
    density: DensityEstimate, points: Float[np.ndarray, "c d"], share: float, rows: int | None = None
) -> DensityEstimate:
    """The same estimate, with this share of `states` moved to further points where states may be: `guessed` is 1.

    Exactly `rows` rows are added, since checkpoints need arrays of one shape; rows without a point have no weight.
    """
    count, rows = len(points), len(points) if rows is None else rows
    share = share if count else 0.0
    added, weights = np.zeros((rows, density.points.shape[1])), np.zeros(rows)
    added[:count], weights[:count] = points, share / max(count, 1)
    return DensityEstimate(
        np.concatenate([density.points, added]),
        np.concatenate([density.ground, np.zeros(rows)]),
        np.concatenate([(1 - share) * density.states, weights]),
        np.concatenate([(1 - share) * density.slopes, np.zeros((rows, *density.slopes.shape[1:]))]),
        np.concatenate([density.guessed, np.ones(rows)]),
    )


def without_padding(density: DensityEstimate) -> DensityEstimate:
    """The estimate without the rows of no weight that `with_others` added."""
    kept = (density.guessed == 0) | (density.states > 0)
    return DensityEstimate(*(part[kept] for part in density))


def density_of(functions: Any, source: Source, seed: int) -> DensityEstimate:
    """The estimate from functions v, the ground state first, at points of a source."""
    with precision_scope("float64"), full_precision():
        batch = drawn(source, stream(seed, Stream.DENSITY), DENSITY_POINTS, True, jnp.asarray(0))
        v, slopes = map(np.asarray, _values_and_gradients(functions, batch.x))
    x, weights = np.asarray(batch.x), np.asarray(batch.weights)
    # A state that vanishes at all these points, having lived only on those it was found on, could be anywhere.
    squares = np.abs(v) ** 2
    squares = np.where(weights @ squares > 0, squares, 1)
    scales = weights[:, None] / (weights @ squares)
    shares = scales * squares
    mean_slopes = np.einsum("bk,bkd,bke->bde", scales, slopes.conj(), slopes).real / v.shape[1]
    return DensityEstimate(x, shares[:, 0], shares.mean(1), mean_slopes, np.zeros(len(x)))


@compiled
def _values_and_gradients(functions: Any, x: Float[Array, "b d"]) -> tuple[Array, Array]:
    """The values and the gradients of the functions at points."""

    def at_point(x: Array) -> tuple[Array, Array]:
        return functions(x), jax.jacfwd(functions)(x)

    return jax.lax.map(at_point, x, batch_size=256)


def mean_and_covariance(values: Float[np.ndarray, "b m"], weights: Float[np.ndarray, " b"]) -> MeanAndCovariance:
    """Of values with these probabilities."""
    mean = weights @ values
    away = values - mean
    return MeanAndCovariance(mean, (away * weights[:, None]).T @ away)


def _uniform_box(source: Source) -> Box | None:
    """The flat box that a source draws uniform points of; None if it draws other points."""
    domain = source.domain
    return domain.flat if domain is not None and source.density is not None else None


def source_around(density: DensityEstimate, source: Source, singularities: tuple[tuple[float, ...], ...]) -> Source:
    """A mixture that draws points where the states are, around singularities and everywhere in the box.

    Importance weights make up for where the points are. A source that does not draw uniform points of a
    box is returned as it is.
    """
    domain = _uniform_box(source)
    if domain is None:
        return source
    uniform = domain.half_width / np.sqrt(3)
    parts: list[Any] = [domain]
    shares = [UNIFORM_SHARE]
    known = density.guessed == 0
    clusters = [(density.points[known], density.states[known])]
    # Guessed places may be far away and small: each cluster of them gets a Gaussian of its own.
    guessed, share = density.points[~known], density.states[~known].sum()
    clusters += [(cluster, np.full(len(cluster), share / len(guessed))) for cluster in clusters_of(guessed)]
    for points, weights in clusters:
        held = weights.sum()
        around = mean_and_covariance(points, weights / held)
        if singularities or (np.sqrt(np.diag(around.covariance)) < LOCALISED * uniform).any():
            # What is as wide as the box is left to the uniform part: a Gaussian that wide would waste points outside.
            covariance = WIDENED**2 * around.covariance + 1e-12 * np.diag(uniform**2)
            parts.append(Gaussian(around.mean.tolist(), covariance))
            # Shares are constants of the compiled program: rounded, equal ones share it though last digits differ.
            shares.append((1 - UNIFORM_SHARE) * round(float(held), 6))
    if len(parts) == 1 and not singularities:
        return source
    for point in singularities:
        size = float(density.ground @ distances_to(density, point, domain))
        parts.append(LogUniformRadius(0.02 * size, 2 * float(np.linalg.norm(domain.half_width)), point))
        shares.append(NUCLEAR_SHARE / len(singularities) / (1 - NUCLEAR_SHARE))
    return Mixture(domain, parts, shares)


def distances_to(density: DensityEstimate, point: tuple[float, ...], box: Box | None) -> Float[np.ndarray, " b"]:
    """The distance of each point of the estimate from one point."""
    return values_at(OffsetFrom(point, box), density.points)[1]


def values_at(function: Callable[[Array], Any], points: Float[np.ndarray, "b d"]) -> Any:
    """The values of a function of one point at all points, in float64."""
    return jax.tree.map(lambda value: np.asarray(value, np.float64), _vmapped(function, jnp.asarray(points)))


@for_one_run
def _vmapped(function: Callable[[Array], Any], points: Float[Array, "b d"]) -> Any:
    return jax.vmap(function)(points)

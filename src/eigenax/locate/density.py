"""Where the states are: from points with weights to a source that draws there."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.domains.box import Box
from eigenax.locate.clusters import clusters_of
from eigenax.networks.boundary import OffsetFrom
from eigenax.sources.base import Source
from eigenax.sources.densities import Gaussian, LogUniformRadius
from eigenax.sources.mixture import Mixture

DENSITY_POINTS = 4096
"""Points that tell where states are."""
UNIFORM_SHARE, NUCLEAR_SHARE = 0.2, 0.6
WIDENED = 1.3
"""How much wider points are drawn than the states are: tails matter, and too few points there cost more than too
many."""
LOCALISED = 0.5
"""States this much narrower than the box, in standard deviations, are worth drawing points for."""


class DensityEstimate(NamedTuple):
    """Points (b, d), with the probability (b,) of each under the ground state and under all states alike."""

    points: Any
    ground: Any
    states: Any
    slopes: Any
    """Where `states` shares out v² over the points, these share out ∇v ∇vᵀ, (b, d, d); zero while that is unknown."""
    guessed: Any
    """One at points where states may be but are not known to be, zero at the others, (b,)."""


class Spread(NamedTuple):
    """The mean and the covariance of coordinates."""

    mean: Float[np.ndarray, " m"]
    covariance: Float[np.ndarray, "m m"]


def anywhere_in(source: Source) -> DensityEstimate:
    """States that could be anywhere that a source draws points."""
    batch = _spread(source)
    return from_ground_state(np.asarray(batch.x, np.float64), np.asarray(batch.weights, np.float64))


@eqx.filter_jit
def _spread(source: Source) -> Any:
    return source.sample_qmc(jax.random.key(0), DENSITY_POINTS)


def from_ground_state(points: Float[np.ndarray, "b d"], weights: Float[np.ndarray, " b"]) -> DensityEstimate:
    """A density of weighted points with the density of the ground state's square, before others are known."""
    alike, dims = weights / weights.sum(), points.shape[1]
    return DensityEstimate(points, alike, alike, np.zeros((len(points), dims, dims)), np.zeros(len(points)))


def with_others(
    density: DensityEstimate, points: Float[np.ndarray, "c d"], share: float, rows: int | None = None
) -> DensityEstimate:
    """The same ground state, and a share of the other states at these points, if there are any.

    As many `rows` are added, those beyond the points of no weight: checkpoints hold arrays of one shape.
    """
    count, rows = len(points), len(points) if rows is None else rows
    share = share if count else 0.0
    added, weights = np.zeros((rows, density.points.shape[1])), np.zeros(rows)
    added[:count], weights[:count] = points, share / max(count, 1)
    return DensityEstimate(
        np.concatenate([density.points, added]),
        np.concatenate([density.ground, np.zeros(rows)]),
        np.concatenate([(1 - share) * density.states, weights]),
        np.concatenate([density.slopes, np.zeros((rows, *density.slopes.shape[1:]))]),
        np.concatenate([density.guessed, np.ones(rows)]),
    )


def without_padding(density: DensityEstimate) -> DensityEstimate:
    """Without rows that were added but hold no point."""
    kept = (density.guessed == 0) | (density.states > 0)
    return DensityEstimate(*(part[kept] for part in density))


def density_of(functions: Any, source: Source, seed: int) -> DensityEstimate:
    """Points with the probabilities of the ground state and of all states, and how fast these change there."""
    with precision_scope("float64"), full_precision():
        drawn = _densities(functions, source, stream(seed, Stream.DENSITY))
    x, v, slopes, weights = map(np.asarray, drawn)
    weights = weights[:, None]
    each = weights * np.abs(v) ** 2
    # A state that is zero at all points but those it was found on could be anywhere.
    each = np.where(each.sum(0) > 0, each, weights)
    totals = each.sum(0)
    shares = each / totals
    return DensityEstimate(
        x, shares[:, 0], shares.mean(1), weights[:, :, None] * slopes / totals.sum(), np.zeros(len(x))
    )


@eqx.filter_jit
def _densities(functions: Any, source: Source, key: PRNGKeyArray) -> tuple[Array, Array, Array, Array]:
    """Points x, the values of functions there, ∇v* ∇vᵀ added up over them, and the weights of the points."""

    def at_point(x: Array) -> tuple[Array, Array]:
        slopes = jax.jacfwd(functions)(x)
        return functions(x), (slopes.conj().T @ slopes).real

    batch = source.sample_qmc(key, DENSITY_POINTS)
    return batch.x, *jax.lax.map(at_point, batch.x, batch_size=256), batch.weights


def spread_of(values: Float[np.ndarray, "b m"], weights: Float[np.ndarray, " b"]) -> Spread:
    """Of values with probabilities."""
    mean = weights @ values
    away = values - mean
    return Spread(mean, (away * weights[:, None]).T @ away)


def _uniform_box(source: Source) -> Box | None:
    """The box that a source draws uniform points of; nothing where it draws others, or none of a box."""
    domain = source.domain
    return domain.flat if domain is not None and source.density is not None else None


def source_around(density: DensityEstimate, source: Source, singularities: tuple[tuple[float, ...], ...]) -> Source:
    """Points where the states are, where the potential is singular, and everywhere, with honest weights.

    What does not draw uniform points of a box stays as it is.
    """
    domain = _uniform_box(source)
    if domain is None:
        return source
    uniform = domain.half_width / np.sqrt(3)
    parts: list[Any] = [domain]
    shares = [UNIFORM_SHARE]
    known = density.guessed == 0
    places = [(density.points[known], density.states[known])]
    # What may be far away and small has points of its own.
    guessed, share = density.points[~known], density.states[~known].sum()
    places += [(cluster, np.full(len(cluster), share / len(guessed))) for cluster in clusters_of(guessed)]
    for points, weights in places:
        held = weights.sum()
        around = spread_of(points, weights / held)
        if singularities or (np.sqrt(np.diag(around.covariance)) < LOCALISED * uniform).any():
            # What is as wide as the box is left to the uniform part: a Gaussian that wide would waste points outside.
            covariance = WIDENED**2 * around.covariance + 1e-12 * np.diag(uniform**2)
            parts.append(Gaussian(around.mean.tolist(), covariance))
            # Without the last digits, which every density has others of, as a program would be.
            shares.append((1 - UNIFORM_SHARE) * round(float(held), 6))
    if len(parts) == 1 and not singularities:
        return source
    for point in singularities:
        size = float(density.ground @ distances_to(density, point, domain))
        parts.append(LogUniformRadius(0.02 * size, 2 * float(np.linalg.norm(domain.half_width)), point))
        shares.append(NUCLEAR_SHARE / len(singularities) / (1 - NUCLEAR_SHARE))
    return Mixture(domain, parts, shares)


def distances_to(density: DensityEstimate, point: tuple[float, ...], box: Box | None) -> Float[np.ndarray, " b"]:
    """How far the points of a density are from one point."""
    return values_at(OffsetFrom(point, box), density.points)[1]


def values_at(function: Callable[[Array], Any], points: Float[np.ndarray, "b d"]) -> Any:
    """What a function gives at all points, in float64."""
    return jax.tree.map(lambda value: np.asarray(value, np.float64), _mapped(function, jnp.asarray(points)))


@eqx.filter_jit
def _mapped(function: Callable[[Array], Any], points: Float[Array, "b d"]) -> Any:
    return jax.vmap(function)(points)

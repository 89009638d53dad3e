"""Where the states are: from points with weights to a source that draws there and waves that live there."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float

from eigenax.networks.boundary import Edges, Walls
from eigenax.networks.waves import (
    Cusps,
    ExponentialEnvelopes,
    GaussianEnvelopes,
    Waves,
    Whitened,
    cusp_scales,
    random_frequencies,
)
from eigenax.sources.base import Source
from eigenax.sources.box import Box
from eigenax.sources.densities import Gaussian, Scales
from eigenax.sources.mixture import Mixture, box_of
from eigenax.sources.surface import Surface

CLOUD = 8192
"""Points that tell where states are."""
UNIFORM_SHARE, NUCLEAR_SHARE = 0.2, 0.6
WIDENED = 1.3
"""How much wider points are drawn than the states are: tails matter, and too few points there cost more than too
many."""
DAMPED = 0.3
LOCALISED = 0.6
"""States this much narrower than the box, in standard deviations, are worth drawing points for."""


class Cloud(NamedTuple):
    """Points (b, d), with the probability (b,) of each under the ground state and under all states alike."""

    points: Any
    ground: Any
    states: Any
    momenta: Any
    """E[∇v ∇vᵀ] of each state, (n, d, d); zero while that is unknown."""


class Spread(NamedTuple):
    """The mean and the covariance of coordinates."""

    mean: Float[np.ndarray, " m"]
    covariance: Float[np.ndarray, "m m"]


def everywhere(source: Source, n: int) -> Cloud:
    """States that could be anywhere in the domain."""
    batch = source.spread(jax.random.key(0), CLOUD)
    weights = np.asarray(batch.weights, np.float64)
    alike = weights / weights.sum()
    return Cloud(np.asarray(batch.x, np.float64), alike, alike, _unknown(n, source.shape[0]))


def of_ground_state(points: Float[np.ndarray, "b d"], n: int) -> Cloud:
    """A cloud of points drawn with the density of the ground state's square, as many as all clouds have."""
    points = np.resize(points, (CLOUD, points.shape[1]))
    alike = np.full(len(points), 1 / len(points))
    return Cloud(points, alike, alike, _unknown(n, points.shape[1]))


def _unknown(n: int, dims: int) -> Float[np.ndarray, "n d d"]:
    return np.zeros((n, dims, dims))


def spread_of(values: Float[np.ndarray, "b m"], weights: Float[np.ndarray, " b"]) -> Spread:
    """Of values with probabilities."""
    mean = weights @ values
    away = values - mean
    return Spread(mean, (away * weights[:, None]).T @ away)


def source_around(cloud: Cloud, domain: Source, singularities: tuple[tuple[float, ...], ...]) -> Source:
    """Points where the states are, where the potential is singular, and everywhere, with honest weights.

    A domain that is no plain box draws its own points.
    """
    if not isinstance(domain, Box):
        return domain
    around = spread_of(cloud.points, cloud.states)
    uniform = domain.half_width / np.sqrt(3)
    narrow = np.sqrt(np.diag(around.covariance)) < LOCALISED * uniform
    if not narrow.any() and not singularities:
        return domain
    # What is as wide as the box is left to the uniform part: a Gaussian that wide would waste points outside.
    covariance = WIDENED**2 * around.covariance + 1e-12 * np.diag(uniform**2)
    parts, shares = [domain, Gaussian(around.mean.tolist(), covariance)], [UNIFORM_SHARE, 1 - UNIFORM_SHARE]
    for point in singularities:
        size = _mean_distance(cloud.points, cloud.ground, point)
        parts.append(Scales(0.02 * size, 2 * float(np.linalg.norm(domain.half_width)), point))
        shares.append(NUCLEAR_SHARE / len(singularities) / (1 - NUCLEAR_SHARE))
    return Mixture(domain, parts, shares)


def coordinates_of(domain: Source) -> Callable[[Array], Array]:
    """Coordinates in which functions on a domain are smooth and obey its boundary."""
    if isinstance(domain, Surface):
        return domain.embedding
    box = box_of(domain)
    assert box is not None, "a domain is a box or a surface"
    return Edges(box)


def walls_of(domain: Source) -> Callable[[Array], Array] | None:
    """The factor that makes functions zero where they must be."""
    box = box_of(domain)
    return Walls(box) if box is not None and "zero" in box.boundary else None


def waves_around(
    cloud: Cloud, domain: Source, singularities: tuple[tuple[float, ...], ...], n: int, size: int, seed: int
) -> Waves:
    """Random waves of the scales that n states in a cloud have."""
    rng = np.random.default_rng([seed, size])
    if singularities:
        return _cusped(rng, cloud, domain, singularities, n, size)
    return _smooth(rng, cloud, domain, n, size)


def _smooth(rng: np.random.Generator, cloud: Cloud, domain: Source, n: int, size: int) -> Waves:
    coordinates = coordinates_of(domain)
    inputs, rates, narrowing = _whitening(cloud, domain, coordinates)
    dims = len(rates)
    usual = 1.5 + 0.75 * n ** (1 / domain.shape[0])
    # Where states move faster along an axis than usual, as inside the narrow wells of a wide potential, waves do too.
    faster = np.maximum(1, 2.2 * np.sqrt(dims) * _wave_numbers(cloud, inputs, dims) / usual)
    frequencies, phases = random_frequencies(rng, size, dims, 0.2 * narrowing, usual)
    frequencies = frequencies * np.where(np.arange(size)[:, None] % 2, faster, 1)
    envelopes = None
    if rates.any():
        z = np.asarray(jax.vmap(inputs)(jnp.asarray(cloud.points)), np.float64)
        centres = z[rng.choice(len(z), size, p=cloud.states)]
        narrowest = 1 + 1 / domain.shape[0]
        stretch = np.exp(rng.uniform(np.log(narrowing), np.log(narrowest), (size, 1)))
        # Half of the envelopes are the ground state's own, a quarter wider ones, a quarter somewhere else.
        kind = np.arange(size)[:, None] % 4
        stretch = np.where(kind < 2, 1.0, np.where(kind == 2, np.minimum(stretch, 1.0), stretch))
        envelopes = GaussianEnvelopes(inputs, np.where(kind == 3, centres, 0.0), rates * stretch**2)
    return Waves(inputs, walls_of(domain), envelopes, frequencies, phases)


def _whitening(
    cloud: Cloud, domain: Source, coordinates: Callable[[Array], Array]
) -> tuple[Whitened, Float[np.ndarray, " z"], float]:
    """Inputs in units of the ground state, the decay it needs along each, and its size over that of all states.

    A state that fills the domain needs no decay: the rates are half the inverse variance, less that of the domain.
    """
    values = np.asarray(jax.vmap(coordinates)(jnp.asarray(cloud.points)), np.float64)
    anywhere = everywhere(domain, 1)
    uniform = spread_of(np.asarray(jax.vmap(coordinates)(jnp.asarray(anywhere.points)), np.float64), anywhere.ground)
    ground, states = spread_of(values, cloud.ground), spread_of(values, cloud.states)
    floor = 1e-9 * np.diag(np.diag(uniform.covariance))
    breadths, matrix = scipy.linalg.eigh(uniform.covariance + floor, ground.covariance + floor)
    rates = np.maximum(0.5 * (1 - 1 / np.maximum(breadths, 1e-9)), 0)
    rates = np.where(breadths > 1 / LOCALISED**2, rates, 0)
    all_states = np.diag(matrix.T @ states.covariance @ matrix)
    narrowing = float(1 / np.sqrt(max(1.0, all_states.max())))
    return Whitened(coordinates, ground.mean, matrix), rates, narrowing


def _wave_numbers(cloud: Cloud, inputs: Whitened, dims: int) -> Float[np.ndarray, " z"]:
    """√E|∂v/∂z|² along each input for the state that is fastest there.

    Zero where inputs are not linear in the coordinates of points.
    """
    if not isinstance(inputs.coordinates, Edges) or set(inputs.coordinates.boundary) != {"zero"}:
        return np.zeros(dims)
    inverse = np.linalg.inv(inputs.matrix)
    squares = np.einsum("zi,nij,zj->nz", inverse, cloud.momenta, inverse)
    return np.sqrt(np.maximum(squares, 0).max(0))


def _cusped(
    rng: np.random.Generator,
    cloud: Cloud,
    domain: Source,
    singularities: tuple[tuple[float, ...], ...],
    n: int,
    size: int,
) -> Waves:
    """Waves of inputs with a kink at each singularity, under exp(−κ r) with the rates κ of the smallest to the
    largest state."""
    dims = domain.shape[0]
    nearest = np.min([np.linalg.norm(cloud.points - np.asarray(point), axis=1) for point in singularities], 0)
    # ∫ r exp(−2κr) dx = d/(2κ) ∫ exp(−2κr) dx. Waves make up for the half that the envelopes leave.
    fastest = dims / (4 * float(cloud.ground @ nearest))
    farthest = float(np.sqrt(cloud.states @ nearest**2))
    ratio = max(n ** (1 / dims), np.sqrt(farthest * fastest))
    inputs = Cusps(singularities, cusp_scales(1 / fastest, 2 * ratio**2 / fastest))
    frequencies, phases = random_frequencies(rng, size, inputs.size, 1.0, 6.0, _favoured(rng, inputs, dims, size))
    rates = fastest * np.exp(rng.uniform(np.log(0.35 / ratio), np.log(0.6), size))
    which = rng.integers(len(singularities), size=size)
    envelopes = ExponentialEnvelopes(np.asarray(singularities), which, rates)
    return Waves(inputs, walls_of(domain), envelopes, frequencies, phases)


def _favoured(rng: np.random.Generator, inputs: Cusps, dims: int, size: int) -> Float[np.ndarray, "f z"]:
    """One scale of the inputs for each wave, the others damped: states of all sizes have nodes of their own."""
    scale_of = np.tile(np.repeat(np.arange(len(inputs.scales)), dims + 1), len(inputs.points))
    return np.where(scale_of == rng.integers(len(inputs.scales), size=(size, 1)), 1.0, DAMPED)


def _mean_distance(
    points: Float[np.ndarray, "b d"], weights: Float[np.ndarray, " b"], point: tuple[float, ...]
) -> float:
    return float(weights @ np.linalg.norm(points - np.asarray(point), axis=1))

"""Where the states are: from points with weights to a source that draws there and waves that live there."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.spatial
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.domains.base import Domain
from eigenax.domains.box import Box
from eigenax.locate.clusters import clusters_of
from eigenax.networks.boundary import OffsetFrom, coordinates_of, dirichlet_factor_of
from eigenax.networks.features import Whitened
from eigenax.networks.waves import (
    Cusps,
    ExponentialEnvelopes,
    GaussianEnvelopes,
    Waves,
    cusp_scales,
    random_frequencies,
)
from eigenax.sources.base import Source
from eigenax.sources.densities import Gaussian, LogUniformRadius
from eigenax.sources.mixture import Mixture
from eigenax.sources.uniform import Uniform

POINTS = 4096
"""Points that tell where states are."""
UNIFORM_SHARE, NUCLEAR_SHARE = 0.2, 0.6
WIDENED = 1.3
"""How much wider points are drawn than the states are: tails matter, and too few points there cost more than too
many."""
DAMPED = 0.3
CAPACITY = 32
"""Along one axis no state has more detail than this many waves show."""
LOCALISED = 0.5
"""States this much narrower than the box, in standard deviations, are worth drawing points for."""
CLUSTERED = 0.35
SLOWEST, FASTEST = 0.1, 2.5
"""Times the wave number that states have on average in a place: how fast packets there swing."""
WIDEST = 0.25
"""Times the decay that states have in a place: how slowly packets that reach into tails fall."""


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
    return source.sample_qmc(jax.random.key(0), POINTS)


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

    batch = source.sample_qmc(key, POINTS)
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
        size = float(density.ground @ _distances(density, point, domain))
        parts.append(LogUniformRadius(0.02 * size, 2 * float(np.linalg.norm(domain.half_width)), point))
        shares.append(NUCLEAR_SHARE / len(singularities) / (1 - NUCLEAR_SHARE))
    return Mixture(domain, parts, shares)


def waves_around(
    density: DensityEstimate, domain: Domain, singularities: tuple[tuple[float, ...], ...], n: int, size: int, seed: int
) -> Waves:
    """Random waves of the scales that n states in a density have."""
    rng = np.random.default_rng([seed, size])
    if singularities:
        return _cusped(rng, density, domain, singularities, n, size)
    return _smooth(rng, density, domain, n, size)


def _smooth(rng: np.random.Generator, density: DensityEstimate, domain: Domain, n: int, size: int) -> Waves:
    """Slow waves under the ground state's envelope, and packets in places of all sizes where states are.

    States that fill the domain need no envelopes.
    """
    dims = domain.shape[0]
    inputs, breadths, narrowing = _whitening(density, domain, coordinates_of(domain))
    usual = 1.5 + 0.75 * n ** (1 / dims)
    frequencies, phases = random_frequencies(rng, size, len(breadths), 0.2 * narrowing, usual)
    narrow, clustered = _decay(breadths) > 0, _clustered(rng, density, inputs, breadths, dims)
    if not (narrow | clustered).any():
        whole = _places(rng, density, inputs, np.ones(1))
        faster = np.maximum(1, FASTEST * np.sqrt(len(breadths) * whole.squares) / usual)
        frequencies[::2] *= faster
        return Waves(inputs, dirichlet_factor_of(domain), None, frequencies, phases)
    smallest = max(size ** (-1 / dims), 1 / CAPACITY)
    places = _places(rng, density, inputs, np.exp(rng.uniform(np.log(smallest), 0, size)))
    tails = np.where(np.arange(size)[:, None] % 3, 1, np.exp(rng.uniform(np.log(WIDEST), 0, (size, 1))))
    decays = np.where(narrow | clustered, tails / (2 * places.variances), 0)
    rates = _decay(breadths)
    # In many dimensions a place is hardly smaller than the whole.
    is_packet = np.arange(size)[:, None] < min(0.75, 2.4 / dims) * size
    envelopes = GaussianEnvelopes(inputs, np.where(is_packet, places.middles, 0), np.where(is_packet, decays, rates))
    frequencies = np.where(is_packet, places.swings(rng), frequencies)
    return Waves(inputs, dirichlet_factor_of(domain), envelopes, frequencies, phases)


def decay_around(density: DensityEstimate, domain: Domain) -> tuple[Whitened, Float[np.ndarray, " z"]]:
    """Inputs in units of the ground state, and the rates of a Gaussian that falls as it does."""
    inputs, breadths, _ = _whitening(density, domain, coordinates_of(domain))
    mean, matrix = np.asarray(inputs.mean).tolist(), np.asarray(inputs.matrix).tolist()
    return Whitened(inputs.coordinates, tuple(mean), tuple(map(tuple, matrix))), _decay(breadths)


def _decay(breadths: Float[np.ndarray, " z"]) -> Float[np.ndarray, " z"]:
    """Of the ground state along each input, given the variance of the domain there; none where it fills the domain."""
    return np.where(breadths > 1 / LOCALISED**2, (1 - 1 / np.maximum(breadths, 1e-9)) / 2, 0)


def _clustered(
    rng: np.random.Generator, density: DensityEstimate, inputs: Whitened, breadths: Float[np.ndarray, " z"], dims: int
) -> Bool[np.ndarray, " z"]:
    """Along which inputs states are in several narrow places: a quarter of them has far less room there than a quarter
    of the domain has."""
    quarters = _places(rng, density, inputs, np.full(64, 0.25))
    return quarters.variances.mean(0) < CLUSTERED * 0.25 ** (2 / dims) * breadths


class Places(NamedTuple):
    """Where packets live: the mean, the variance and the squared wave number of states there, along each input."""

    middles: Float[np.ndarray, "f z"]
    variances: Float[np.ndarray, "f z"]
    squares: Float[np.ndarray, "f z"]

    def swings(self, rng: np.random.Generator) -> Float[np.ndarray, "f z"]:
        """A random frequency for each place, in units of what states have there."""
        size, dims = self.squares.shape
        units, _ = random_frequencies(rng, size, dims, SLOWEST, FASTEST)
        return np.sqrt(dims * self.squares) * units


def _places(
    rng: np.random.Generator, density: DensityEstimate, inputs: Whitened, shares: Float[np.ndarray, " f"]
) -> Places:
    """Around random points of the density, each as large as to hold its share of the states."""
    z, slopes = _at(eqx.Partial(_value_and_slopes, inputs), density.points)
    centres = z[rng.choice(len(z), len(shares), p=density.states)]
    away = scipy.spatial.distance.cdist(centres, z)
    nearest = np.argsort(away, axis=1, kind="stable")
    held = np.cumsum(density.states[nearest], 1) <= shares[:, None] + 1e-9
    held[:, : 4 * z.shape[1]] = True
    within = np.zeros_like(away)
    np.put_along_axis(within, nearest, held.astype(float), 1)
    # ∂v/∂z along the inputs, from ∂v/∂x and the inputs' own slopes.
    back = np.linalg.pinv(slopes)
    slopes = np.einsum("biz,bij,bjz->bz", back, density.slopes, back)
    states, total = density.states[:, None], within @ density.states[:, None]
    middles = within @ (states * z) / total
    variances = np.maximum(within @ (states * z**2) / total - middles**2, 1e-6)
    # No less than a Gaussian of that size has, where slopes are unknown or small.
    return Places(middles, variances, np.maximum(within @ slopes / total, 1 / (4 * variances)))


def _whitening(
    density: DensityEstimate, domain: Domain, coordinates: Callable[[Array], Array]
) -> tuple[Whitened, Float[np.ndarray, " z"], float]:
    """Inputs in units of the ground state, the domain's variance along each, and the ground state's size over that of
    all states."""
    values = _at(coordinates, density.points)
    anywhere = anywhere_in(Uniform(domain))
    uniform = spread_of(_at(coordinates, anywhere.points), anywhere.ground)
    ground, states = spread_of(values, density.ground), spread_of(values, density.states)
    floor = 1e-9 * np.diag(np.diag(uniform.covariance))
    breadths, matrix = scipy.linalg.eigh(uniform.covariance + floor, ground.covariance + floor)
    all_states = np.diag(matrix.T @ states.covariance @ matrix)
    narrowing = float(1 / np.sqrt(max(1.0, all_states.max())))
    return Whitened(coordinates, ground.mean, matrix), breadths, narrowing


def _cusped(
    rng: np.random.Generator,
    density: DensityEstimate,
    domain: Domain,
    singularities: tuple[tuple[float, ...], ...],
    n: int,
    size: int,
) -> Waves:
    """Waves of inputs with a kink at each singularity, under exp(−κ r) with the rates κ of the smallest to the
    largest state."""
    dims, box = domain.shape[0], domain.flat
    scale = _cusp_scale(density, singularities, domain, n)
    inputs = _cusps(scale, singularities, box)
    # As fast as so many waves can follow in all directions: slower ones would hardly differ, faster ones leave gaps.
    capacity = min(size ** (1 / dims), CAPACITY)
    favoured = _favoured(rng, inputs, dims, size)
    frequencies, phases = random_frequencies(rng, size, inputs.size, 0.2 * capacity, 0.6 * capacity, favoured)
    rates = scale.fastest * np.exp(rng.uniform(np.log(0.25 / scale.ratio), np.log(0.6), size))
    which = rng.integers(len(singularities), size=size)
    envelopes = ExponentialEnvelopes(singularities, which, rates, box)
    return Waves(inputs, dirichlet_factor_of(domain), envelopes, frequencies, phases)


class CuspScale(NamedTuple):
    """The rate at which the smallest state decays, and how many times slower the largest one does."""

    fastest: float
    ratio: float


def cusps_around(
    density: DensityEstimate, domain: Domain, singularities: tuple[tuple[float, ...], ...], n: int
) -> Cusps:
    """Inputs with a kink at each singularity, on all scales that n states have."""
    return _cusps(_cusp_scale(density, singularities, domain, n), singularities, domain.flat)


def _cusps(scale: CuspScale, singularities: tuple[tuple[float, ...], ...], box: Box | None) -> Cusps:
    return Cusps(singularities, cusp_scales(1 / scale.fastest, 2 * scale.ratio**2 / scale.fastest), box)


def _cusp_scale(
    density: DensityEstimate, singularities: tuple[tuple[float, ...], ...], domain: Domain, n: int
) -> CuspScale:
    dims, box = domain.shape[0], domain.flat
    nearest = np.min([_distances(density, point, box) for point in singularities], 0)
    # ∫ r exp(−2κr) dx = d/(2κ) ∫ exp(−2κr) dx. Waves make up for the half that the envelopes leave.
    fastest = dims / (4 * float(density.ground @ nearest))
    farthest = float(np.sqrt(density.states @ nearest**2))
    return CuspScale(fastest, float(max(n ** (1 / dims), np.sqrt(farthest * fastest))))


def _favoured(rng: np.random.Generator, inputs: Cusps, dims: int, size: int) -> Float[np.ndarray, "f z"]:
    """One scale of the inputs for each wave, the others damped: states of all sizes have nodes of their own."""
    scale_of = np.tile(np.repeat(np.arange(len(inputs.scales)), dims + 1), len(inputs.points))
    return np.where(scale_of == rng.integers(len(inputs.scales), size=(size, 1)), 1.0, DAMPED)


def _distances(density: DensityEstimate, point: tuple[float, ...], box: Box | None) -> Float[np.ndarray, " b"]:
    return _at(OffsetFrom(point, box), density.points)[1]


def _at(function: Callable[[Array], Any], points: Float[np.ndarray, "b d"]) -> Any:
    """What a function gives at all points, in float64."""
    return jax.tree.map(lambda value: np.asarray(value, np.float64), _mapped(function, jnp.asarray(points)))


@eqx.filter_jit
def _mapped(function: Callable[[Array], Any], points: Float[Array, "b d"]) -> Any:
    return jax.vmap(function)(points)


def _value_and_slopes(function: Callable[[Array], Array], x: Array) -> tuple[Array, Array]:
    return function(x), jax.jacfwd(function)(x)

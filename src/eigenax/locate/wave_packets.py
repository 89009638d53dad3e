"""Random functions that live where the states are: packets of waves, and cusps at singular points."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
import scipy.linalg
import scipy.spatial
from jaxtyping import Array, Bool, Float

from eigenax.domains.base import Domain
from eigenax.domains.box import Box
from eigenax.locate.density import LOCALISED, DensityEstimate, anywhere_in, distances_to, spread_of, values_at
from eigenax.networks.boundary import coordinates_of, dirichlet_factor_of
from eigenax.networks.features import Whitened
from eigenax.networks.waves import (
    Cusps,
    ExponentialEnvelopes,
    GaussianEnvelopes,
    Waves,
    cusp_scales,
    random_frequencies,
)
from eigenax.sources.uniform import Uniform

DAMPED = 0.3
CAPACITY = 32
"""Along one axis no state has more detail than this many waves show."""
CLUSTERED = 0.35
SLOWEST, FASTEST = 0.1, 2.5
"""Times the wave number that states have on average in a place: how fast packets there swing."""
WIDEST = 0.25
"""Times the decay that states have in a place: how slowly packets that reach into tails fall."""


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


def packets_around(density: DensityEstimate, domain: Domain, size: int, seed: int) -> Waves:
    """Packets in places of all sizes that a density has, down to its nearest points."""
    rng = np.random.default_rng([seed, size])
    inputs, _, _ = _whitening(density, domain, coordinates_of(domain))
    places = _places(rng, density, inputs, np.exp(rng.uniform(np.log(1 / len(density.points)), 0, size)))
    envelopes = GaussianEnvelopes(inputs, places.middles, 1 / (2 * places.variances))
    return Waves(inputs, dirichlet_factor_of(domain), envelopes, places.swings(rng), rng.uniform(0, 2 * np.pi, size))


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
    z, slopes = values_at(eqx.Partial(_value_and_slopes, inputs), density.points)
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
    values = values_at(coordinates, density.points)
    anywhere = anywhere_in(Uniform(domain))
    uniform = spread_of(values_at(coordinates, anywhere.points), anywhere.ground)
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
    nearest = np.min([distances_to(density, point, box) for point in singularities], 0)
    # ∫ r exp(−2κr) dx = d/(2κ) ∫ exp(−2κr) dx. Waves make up for the half that the envelopes leave.
    fastest = dims / (4 * float(density.ground @ nearest))
    farthest = float(np.sqrt(density.states @ nearest**2))
    return CuspScale(fastest, float(max(n ** (1 / dims), np.sqrt(farthest * fastest))))


def _favoured(rng: np.random.Generator, inputs: Cusps, dims: int, size: int) -> Float[np.ndarray, "f z"]:
    """One scale of the inputs for each wave, the others damped: states of all sizes have nodes of their own."""
    scale_of = np.tile(np.repeat(np.arange(len(inputs.scales)), dims + 1), len(inputs.points))
    return np.where(scale_of == rng.integers(len(inputs.scales), size=(size, 1)), 1.0, DAMPED)


def _value_and_slopes(function: Callable[[Array], Array], x: Array) -> tuple[Array, Array]:
    return function(x), jax.jacfwd(function)(x)

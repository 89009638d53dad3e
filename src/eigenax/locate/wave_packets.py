"""Random basis functions where the states are: wave packets, and waves with cusps at singularities."""

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
from eigenax.locate.density import LOCALISED, DensityEstimate, anywhere_in, distances_to, mean_and_covariance, values_at
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
"""A wave of cusp inputs favours one length scale; its frequencies along the others are damped by this factor."""
CAPACITY = 32
"""No state is taken to have more detail along one axis than this many waves resolve."""
CLUSTERED = 0.35
"""Regions that hold a quarter of the states are narrow if their variance is below this share of that of a quarter of
the domain."""
SLOWEST, FASTEST = 0.1, 2.5
"""The range of the frequencies of packets, in units of the root mean squared wave number of the states there."""
WIDEST = 0.25
"""The slowest decay of packets that reach into tails, in units of the decay of the states there."""


def waves_around(
    density: DensityEstimate, domain: Domain, singularities: tuple[tuple[float, ...], ...], n: int, size: int, seed: int
) -> Waves:
    """Random waves with the length scales that n states in this density have."""
    rng = np.random.default_rng([seed, size])
    if singularities:
        return _cusped(rng, density, domain, singularities, n, size)
    return _smooth(rng, density, domain, n, size)


def _smooth(rng: np.random.Generator, density: DensityEstimate, domain: Domain, n: int, size: int) -> Waves:
    """Slow waves under the ground state's envelope, and wave packets of all sizes where the states are.

    If the states fill the domain, waves need no envelopes.
    """
    dims = domain.shape[0]
    inputs, breadths, narrowing = _whitening(density, domain, coordinates_of(domain))
    usual = 1.5 + 0.75 * n ** (1 / dims)
    frequencies, phases = random_frequencies(rng, size, len(breadths), 0.2 * narrowing, usual)
    localised, clustered = _decay(breadths) > 0, _is_clustered(rng, density, inputs, breadths, dims)
    if not (localised | clustered).any():
        whole = _regions(rng, density, inputs, np.ones(1))
        faster = np.maximum(1, FASTEST * np.sqrt(len(breadths) * whole.squares) / usual)
        frequencies[::2] *= faster
        return Waves(inputs, dirichlet_factor_of(domain), None, frequencies, phases)
    smallest = max(size ** (-1 / dims), 1 / CAPACITY)
    regions = _regions(rng, density, inputs, np.exp(rng.uniform(np.log(smallest), 0, size)))
    tails = np.where(np.arange(size)[:, None] % 3, 1, np.exp(rng.uniform(np.log(WIDEST), 0, (size, 1))))
    decays = np.where(localised | clustered, tails / (2 * regions.variances), 0)
    rates = _decay(breadths)
    # In many dimensions a region is hardly narrower than the whole density: fewer of the waves are packets.
    is_packet = np.arange(size)[:, None] < min(0.75, 2.4 / dims) * size
    envelopes = GaussianEnvelopes(inputs, np.where(is_packet, regions.middles, 0), np.where(is_packet, decays, rates))
    frequencies = np.where(is_packet, regions.draw_frequencies(rng), frequencies)
    return Waves(inputs, dirichlet_factor_of(domain), envelopes, frequencies, phases)


def packets_around(density: DensityEstimate, domain: Domain, size: int, seed: int) -> Waves:
    """Wave packets of all sizes in this density, from its whole extent down to the distance of neighbouring points."""
    rng = np.random.default_rng([seed, size])
    inputs, _, _ = _whitening(density, domain, coordinates_of(domain))
    regions = _regions(rng, density, inputs, np.exp(rng.uniform(np.log(1 / len(density.points)), 0, size)))
    envelopes = GaussianEnvelopes(inputs, regions.middles, 1 / (2 * regions.variances))
    return Waves(
        inputs, dirichlet_factor_of(domain), envelopes, regions.draw_frequencies(rng), rng.uniform(0, 2 * np.pi, size)
    )


def decay_around(density: DensityEstimate, domain: Domain) -> tuple[Whitened, Float[np.ndarray, " z"]]:
    """Coordinates in units of the ground state's width, and the rates of a Gaussian that decays as it does."""
    inputs, breadths, _ = _whitening(density, domain, coordinates_of(domain))
    mean, matrix = np.asarray(inputs.mean).tolist(), np.asarray(inputs.matrix).tolist()
    return Whitened(inputs.coordinates, tuple(mean), tuple(map(tuple, matrix))), _decay(breadths)


def _decay(breadths: Float[np.ndarray, " z"]) -> Float[np.ndarray, " z"]:
    """The ground state's decay rate along each input, given the domain's variance there in units of the ground state's.

    Zero where the ground state fills the domain.
    """
    return np.where(breadths > 1 / LOCALISED**2, (1 - 1 / np.maximum(breadths, 1e-9)) / 2, 0)


def _is_clustered(
    rng: np.random.Generator, density: DensityEstimate, inputs: Whitened, breadths: Float[np.ndarray, " z"], dims: int
) -> Bool[np.ndarray, " z"]:
    """Along which inputs the density is clustered: regions that hold a quarter of it are far narrower than a quarter of
    the domain."""
    quarters = _regions(rng, density, inputs, np.full(64, 0.25))
    return quarters.variances.mean(0) < CLUSTERED * 0.25 ** (2 / dims) * breadths


class Regions(NamedTuple):
    """Regions where packets live: the mean, variance and squared wave number of the states there, along each input."""

    middles: Float[np.ndarray, "f z"]
    variances: Float[np.ndarray, "f z"]
    squares: Float[np.ndarray, "f z"]

    def draw_frequencies(self, rng: np.random.Generator) -> Float[np.ndarray, "f z"]:
        """A random frequency for each region, in units of the wave number of the states there."""
        size, dims = self.squares.shape
        units, _ = random_frequencies(rng, size, dims, SLOWEST, FASTEST)
        return np.sqrt(dims * self.squares) * units


def _regions(
    rng: np.random.Generator, density: DensityEstimate, inputs: Whitened, shares: Float[np.ndarray, " f"]
) -> Regions:
    """Regions around random points of the density, each just large enough to hold its share of the states."""
    z, slopes = values_at(eqx.Partial(_value_and_slopes, inputs), density.points)
    centres = z[rng.choice(len(z), len(shares), p=density.states)]
    away = scipy.spatial.distance.cdist(centres, z)
    nearest = np.argsort(away, axis=1, kind="stable")
    held = np.cumsum(density.states[nearest], 1) <= shares[:, None] + 1e-9
    held[:, : 4 * z.shape[1]] = True
    within = np.zeros_like(away)
    np.put_along_axis(within, nearest, held.astype(float), 1)
    # ∇v ∇vᵀ with respect to the inputs z, from that with respect to x and from ∂z/∂x.
    back = np.linalg.pinv(slopes)
    slopes = np.einsum("biz,bij,bjz->bz", back, density.slopes, back)
    states, total = density.states[:, None], within @ density.states[:, None]
    middles = within @ (states * z) / total
    variances = np.maximum(within @ (states * z**2) / total - middles**2, 1e-6)
    # At least the squared wave number of a Gaussian of that width, where gradients are unknown or small.
    return Regions(middles, variances, np.maximum(within @ slopes / total, 1 / (4 * variances)))


def _whitening(
    density: DensityEstimate, domain: Domain, coordinates: Callable[[Array], Array]
) -> tuple[Whitened, Float[np.ndarray, " z"], float]:
    """Inputs in units of the ground state's width, the domain's variance along each of them, and the ratio of the width
    of the ground state to that of all states."""
    values = values_at(coordinates, density.points)
    anywhere = anywhere_in(Uniform(domain))
    uniform = mean_and_covariance(values_at(coordinates, anywhere.points), anywhere.ground)
    ground, states = mean_and_covariance(values, density.ground), mean_and_covariance(values, density.states)
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
    """Waves of inputs with a kink at each singularity, times exp(−κ r) with rates κ from those of the smallest state to
    those of the largest."""
    dims, box = domain.shape[0], domain.flat
    scale = _cusp_scale(density, singularities, domain, n)
    inputs = _cusps(scale, singularities, box)
    # The frequency that so many waves can resolve in all directions: slower ones are alike, faster ones leave gaps.
    capacity = min(size ** (1 / dims), CAPACITY)
    favoured = _favoured(rng, inputs, dims, size)
    frequencies, phases = random_frequencies(rng, size, inputs.size, 0.2 * capacity, 0.6 * capacity, favoured)
    rates = scale.fastest * np.exp(rng.uniform(np.log(0.25 / scale.ratio), np.log(0.6), size))
    which = rng.integers(len(singularities), size=size)
    envelopes = ExponentialEnvelopes(singularities, which, rates, box)
    return Waves(inputs, dirichlet_factor_of(domain), envelopes, frequencies, phases)


class CuspScale(NamedTuple):
    """How fast the smallest state decays, and the ratio of that rate to the largest state's."""

    fastest: float
    ratio: float


def cusps_around(
    density: DensityEstimate, domain: Domain, singularities: tuple[tuple[float, ...], ...], n: int
) -> Cusps:
    """Inputs with a kink at each singularity, on all length scales that n states have."""
    return _cusps(_cusp_scale(density, singularities, domain, n), singularities, domain.flat)


def _cusps(scale: CuspScale, singularities: tuple[tuple[float, ...], ...], box: Box | None) -> Cusps:
    return Cusps(singularities, cusp_scales(1 / scale.fastest, 2 * scale.ratio**2 / scale.fastest), box)


def _cusp_scale(
    density: DensityEstimate, singularities: tuple[tuple[float, ...], ...], domain: Domain, n: int
) -> CuspScale:
    dims, box = domain.shape[0], domain.flat
    nearest = np.min([distances_to(density, point, box) for point in singularities], 0)
    # ∫ r exp(−2κr) dx = d/(2κ) ∫ exp(−2κr) dx gives κ = d/(2⟨r⟩). Envelopes take half of it, waves the other half.
    fastest = dims / (4 * float(density.ground @ nearest))
    farthest = float(np.sqrt(density.states @ nearest**2))
    return CuspScale(fastest, float(max(n ** (1 / dims), np.sqrt(farthest * fastest))))


def _favoured(rng: np.random.Generator, inputs: Cusps, dims: int, size: int) -> Float[np.ndarray, "f z"]:
    """Factors that let each wave see one scale of the inputs fully and the others damped: small and large states have
    their nodes at different scales."""
    scale_of = np.tile(np.repeat(np.arange(len(inputs.scales)), dims + 1), len(inputs.points))
    return np.where(scale_of == rng.integers(len(inputs.scales), size=(size, 1)), 1.0, DAMPED)


def _value_and_slopes(function: Callable[[Array], Array], x: Array) -> tuple[Array, Array]:
    return function(x), jax.jacfwd(function)(x)

"""The default network, and the default points to train it on."""

import dataclasses

import jax
from jaxtyping import PRNGKeyArray

from eigenax.bases.domain import SHARE, first_density
from eigenax.core.random_streams import Stream, stream
from eigenax.domains.box import Box
from eigenax.locate.density import DensityEstimate, from_ground_state, source_around, with_others
from eigenax.locate.diffusion_monte_carlo import explore
from eigenax.locate.wave_packets import cusps_around, decay_around
from eigenax.networks.base import Compose, Multiply, Network
from eigenax.networks.boundary import dirichlet_factor_of
from eigenax.networks.default import default_network
from eigenax.networks.features import ExponentialFactor, Whitened
from eigenax.networks.mlp import MLP, EnsembleMLP
from eigenax.networks.waves import Cusps
from eigenax.problem import Problem


def network_key(seed: int) -> jax.Array:
    """The key from which the network of a seed is initialised."""
    return stream(seed, Stream.NETWORK)


def default_parts(problem: Problem, separate: bool = False) -> Problem:
    """The problem with a default network; on a box, with one for the region of the states, and points drawn there.

    Diffusion Monte Carlo finds that region. `separate` asks for separate parameters for each function.
    """
    p, key = problem, network_key(problem.seed)
    box = None if p.domain is None else p.domain.flat
    if box is None or not p.operator.wants_boundary:
        return dataclasses.replace(p, network=default_network(p.operator, p.source, p.n, p.which, key, separate))
    density, singularities = density_to_train_on(p), p.operator.singularities()
    network = network_around(density, box, singularities, p.n, key, separate)
    around = source_around(density, p.source, singularities)
    # A sampler that the user gave is kept.
    sampler = around if p.sampler is p.source else p.sampler
    return dataclasses.replace(p, network=network, sampler=sampler)


def density_to_train_on(problem: Problem) -> DensityEstimate:
    """The density of the ground state of −D∇² + V, and of other wells, that diffusion Monte Carlo finds.

    Where the operator does not have this form, the density covers the whole domain.
    """
    found = explore(problem)
    if found is None:
        return first_density(problem.source, None)
    return with_others(from_ground_state(found.points, found.descendants), found.other_wells, SHARE)


def network_around(
    density: DensityEstimate,
    box: Box,
    singularities: tuple[tuple[float, ...], ...],
    n: int,
    key: PRNGKeyArray,
    separate: bool,
) -> Network:
    """A perceptron whose inputs are in units of the ground state's width, or have cusps at singularities of V."""
    walls, factors = dirichlet_factor_of(box), []
    if singularities:
        inputs: Cusps | Whitened = cusps_around(density, box, singularities, n)
    else:
        inputs, rates = decay_around(density, box)
        if rates.any():
            factors.append(ExponentialFactor(inputs, tuple(rates.tolist())))
    # Many modes of one variable need sines; a shared network of several variables learns better with softplus.
    activation = "sin" if separate or len(box.low) == 1 else "softplus"
    network: Network = Compose(
        inputs, (EnsembleMLP if separate else MLP)(inputs.size, n, activation=activation, key=key)
    )
    for factor in factors if walls is None else [*factors, walls]:
        network = Multiply(factor, network)
    return network

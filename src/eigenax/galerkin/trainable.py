"""A network to train on a box: inputs, decay and boundary values from where walkers found the ground state."""

from jaxtyping import PRNGKeyArray

from eigenax.galerkin.cloud import Cloud, cusps_around, decay_around
from eigenax.networks.base import Bounded, Network, OnInputs
from eigenax.networks.boundary import walls_of
from eigenax.networks.features import Falling, Whitened
from eigenax.networks.mlp import MLP, Separate
from eigenax.networks.waves import Cusps
from eigenax.sources.box import Box


def network_around(
    cloud: Cloud,
    box: Box,
    singularities: tuple[tuple[float, ...], ...],
    n: int,
    key: PRNGKeyArray,
    separate: bool,
) -> Network:
    """Perceptrons of inputs in units of the ground state, or with kinks where the potential is singular."""
    walls, factors = walls_of(box), []
    if singularities:
        inputs: Cusps | Whitened = cusps_around(cloud, box, singularities, n)
    else:
        inputs, rates = decay_around(cloud, box)
        if rates.any():
            factors.append(Falling(inputs, tuple(rates.tolist())))
    # Many modes of one variable need sines; a shared network of several learns better without.
    activation = "sin" if separate or len(box.low) == 1 else "softplus"
    network: Network = OnInputs(inputs, (Separate if separate else MLP)(inputs.size, n, activation=activation, key=key))
    for factor in factors if walls is None else [*factors, walls]:
        network = Bounded(factor, network)
    return network

"""The network and the points in many dimensions, where nothing was given: of the size of the ground state."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from eigenax.core.random_streams import Stream, stream
from eigenax.domains.box import Box
from eigenax.locate.clusters import clusters_of
from eigenax.locate.density import mean_and_covariance
from eigenax.locate.diffusion_monte_carlo import Explored, can_diffuse, explore, local_form
from eigenax.locate.gaussian import GaussianState, self_consistent_gaussian
from eigenax.networks.ansatz import Ansatz
from eigenax.networks.base import Multiply
from eigenax.networks.boundary import ThinDirichletFactor, dirichlet_factor_of
from eigenax.networks.many_inputs import ManyInputs
from eigenax.networks.products import Product, lowest_products, powers
from eigenax.problem import Problem
from eigenax.solvers.first_network import first_network
from eigenax.sources.markov_chains import MarkovChains

FEW_DIMS = 3
"""Up to this many dimensions, random waves reach all digits that single precision has."""
WIDTHS = (64, 48, 32, 24, 16)
"""Units of a hidden layer: the most whose network has few enough parameters."""
PARAMETERS = {"cpu": 1000}
"""About the most parameters, by device: a step takes a time that grows with their square."""
OTHER_PARAMETERS = 4500
"""The same for all other devices."""
ROWS_PER_PARAMETER = 2
"""A batch has this many functions' values for each parameter: fewer would not tell all tangents apart."""
OPEN_DEGREE, BOUNDED_DEGREE = 6, 10
"""The highest degrees in a single input, by whether its axis is open."""
MOST_ANHARMONIC = 256
"""Products of inputs in the exponent, besides these degrees."""
PRODUCTS_PER_FUNCTION = 4
"""Products of inputs among the features, for each function, besides these degrees."""
MOST_PRODUCTS = 96
"""The most of them."""
LEAST_WIDTH = 1e-6
"""The least standard deviation of states along an axis, as a share of the half-width of the box."""
FITS = 4.0
"""Walkers, whose density is v, have a mean squared distance of 2 d in units of a Gaussian v² that is right, and of more
than this times d if they are in several wells."""
MOST_WALKED = 32
"""In more dimensions than this, a few thousand walkers do not reach the ground state."""


def walkers_can_tell(problem: Problem) -> bool:
    """Whether diffusion Monte Carlo can tell where the states are: of −D∇² + V on a box that is not curved."""
    box = None if problem.domain is None else problem.domain.flat
    return box is not None and can_diffuse(problem.descending, box)


def parts_in_many_dims(problem: Problem, outputs: int, batch: int) -> Problem:
    """The problem with Markov chains where the states are and, unless it has a network, an `Ansatz`."""
    found = explore(problem)
    assert found is not None, "asked of operators that can diffuse only"
    domain, key = problem.domain, stream(problem.seed, Stream.NETWORK)
    assert domain is not None, "explored"
    size, start, weights = ground_state_size(problem, found)
    start, weights = start[weights > 0], weights[weights > 0]
    centres = np.stack([cluster.mean(0) for cluster in clusters_of(start)])
    chains = MarkovChains(problem.source, start=start.astype(np.float32), centres=centres)
    if problem.network is not None:
        return dataclasses.replace(problem, sampler=chains)
    network = network_for(problem, domain.box, size, outputs, batch, key)
    network, ends = first_network(problem.descending, network, chains, start, weights, outputs, batch, problem.seed)
    if problem.sampler is not problem.source:
        return dataclasses.replace(problem, network=network)
    chains = MarkovChains(problem.source, start=np.asarray(ends), centres=centres)
    return dataclasses.replace(problem, network=network, sampler=chains)


def network_for(problem: Problem, box: Box, ground: GaussianState, outputs: int, batch: int, key: PRNGKeyArray) -> Any:
    """An `Ansatz` for a ground state of this size, with a factor for Dirichlet faces."""
    inputs = ManyInputs.of(box, ground.mean, ground.covariance, problem.operator.singularities())
    diffusion = np.asarray(local_form(problem.descending, jnp.asarray(ground.mean[None])).diffusion)
    products, anharmonic = products_for(inputs, inputs.energies(diffusion), outputs)

    def made(width: int) -> Ansatz:
        return Ansatz(inputs, outputs, width=width, products=products, anharmonic=anharmonic, key=key)

    most = min(batch * outputs / ROWS_PER_PARAMETER, PARAMETERS.get(jax.default_backend(), OTHER_PARAMETERS))
    width = next((width for width in WIDTHS if _parameters(made, width) <= most), WIDTHS[-1])
    ansatz = made(width)
    if dirichlet_factor_of(box) is None:
        return ansatz
    return Multiply(ThinDirichletFactor(box, np.sqrt(np.diag(ground.covariance)).tolist()), ansatz)


def products_for(
    inputs: ManyInputs, energies: Float[np.ndarray, " m"], outputs: int
) -> tuple[list[Product], list[Product]]:
    """Products of inputs for the features and for the exponent: powers of each input, and the lowest mixed ones.

    The exponent has its quadratic form for the products of two unbounded inputs.
    """
    is_open, others, sines = range(inputs.unbounded), range(inputs.unbounded, len(energies)), inputs.sines
    each = powers(is_open, OPEN_DEGREE) + powers(others, BOUNDED_DEGREE, sines)

    def with_mixed(lowest: int) -> list[Product]:
        return list(dict.fromkeys(each + lowest_products(energies, lowest, sines=sines)))

    features = with_mixed(min(PRODUCTS_PER_FUNCTION * outputs, MOST_PRODUCTS))
    exponent = with_mixed(MOST_ANHARMONIC)
    return features, [one for one in exponent if len(one) > 2 or max(one) >= inputs.unbounded]


def _parameters(made: Any, width: int) -> int:
    arrays = jax.eval_shape(lambda: eqx.filter(made(width), eqx.is_inexact_array))
    return sum(leaf.size for leaf in jax.tree.leaves(arrays))


def ground_state_size(
    problem: Problem, found: Explored
) -> tuple[GaussianState, Float[np.ndarray, "c d"], Float[np.ndarray, " c"]]:
    """Mean and covariance of the squared ground state, and points that have its density with these weights.

    Both come from the self-consistent harmonic approximation if that has a place for the walkers of diffusion Monte
    Carlo, or if there are too many dimensions for walkers; from the walkers where these are in several wells, or where
    an axis has faces that are not Dirichlet.
    """
    domain, dims = problem.domain, found.points.shape[1]
    assert domain is not None, "explored"
    weights = found.descendants / found.descendants.sum()
    walked = GaussianState(*mean_and_covariance(found.points, weights))
    walked = walked._replace(covariance=walked.covariance + LEAST_WIDTH**2 * np.diag(domain.box.half_width**2))
    if not domain.box.open_axes.all():
        return walked, found.points, weights
    key = stream(problem.seed, Stream.GAUSSIAN)
    gaussian = self_consistent_gaussian(problem.descending, domain.box, walked, key)
    if gaussian is None:
        return walked, found.points, weights
    root = np.linalg.cholesky(gaussian.covariance)
    distances = (np.linalg.solve(root, (found.points - gaussian.mean).T) ** 2).sum(0)
    if dims <= MOST_WALKED and distances.mean() > FITS * dims:
        return walked, found.points, weights
    drawn = gaussian.mean + np.random.default_rng(problem.seed).normal(size=found.points.shape) @ root.T
    low, high = np.array(domain.box.low), np.array(domain.box.high)
    drawn = drawn[((drawn > low) & (drawn < high)).all(1)]
    return gaussian, drawn, np.ones(len(drawn))

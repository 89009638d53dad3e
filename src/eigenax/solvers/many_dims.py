"""Where to start in many dimensions: diffusion Monte Carlo tells the envelope, a first Rayleigh–Ritz step the rest."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from eigenax.core.random_streams import Stream, stream
from eigenax.core.rayleigh import second_moment
from eigenax.core.ritz import lowest
from eigenax.domains.box import Box
from eigenax.locate.clusters import clusters_of
from eigenax.locate.density import mean_and_covariance
from eigenax.locate.diffusion_monte_carlo import Explored, explore, local_form
from eigenax.locate.gaussian import GaussianState, self_consistent_gaussian
from eigenax.networks.ansatz import Ansatz, lowest_products
from eigenax.networks.base import Multiply, hidden_layer
from eigenax.networks.boundary import ThinDirichletFactor, dirichlet_factor_of
from eigenax.networks.many_inputs import ManyInputs
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.sources.markov_chains import MarkovChains

WIDTHS = (64, 48, 32, 24, 16)
"""Units of a hidden layer: the most whose network has few enough parameters."""
PARAMETERS = {"cpu": 1000}
"""About the most parameters, by device: a step takes a time that grows with their square."""
OTHER_PARAMETERS = 4500
"""The same for all other devices."""
ROWS_PER_PARAMETER = 2
"""A batch has this many functions' values for each parameter: fewer would not tell all tangents apart."""
MOST_ANHARMONIC = 256
"""The most products of three or four inputs in the exponent."""
PRODUCTS_PER_FUNCTION = 4
"""Products of inputs among the features, for each function."""
MOST_PRODUCTS = 96
"""The most products."""
POINTS_PER_FEATURE = 64
"""Points of the first Rayleigh–Ritz step for each feature."""
LEAST_WIDTH = 1e-6
"""The least standard deviation of states along an axis, as a share of the half-width of the box."""
FITS = 4.0
"""Walkers, whose density is v, have a mean squared distance of 2 d in units of a Gaussian v² that is right, and of more
than this times d if they are in several wells."""
MOST_WALKED = 32
"""In more dimensions than this, a few thousand walkers do not reach the ground state."""
CUTOFF = 1e-4
"""The cutoff of that step, whose moments come from chains in float32."""


def parts_in_many_dims(problem: Problem, outputs: int, batch: int) -> Problem:
    """The problem with an `Ansatz` of so many outputs and with Markov chains where the states are."""
    found = explore(problem)
    assert found is not None, "asked of operators that can diffuse only"
    domain, key = problem.domain, stream(problem.seed, Stream.NETWORK)
    assert domain is not None, "explored"
    size, start = ground_state_size(problem, found)
    network = network_for(problem, domain.box, size, outputs, batch, key)
    start = start.astype(np.float32)
    centres = np.stack([cluster.mean(0) for cluster in clusters_of(start)])
    chains = MarkovChains(problem.source, start=start, centres=centres)
    network, start = with_lowest_outputs(problem.descending, network, chains, outputs, batch, problem.seed)
    sampler = problem.sampler
    if sampler is problem.source:
        sampler = MarkovChains(problem.source, start=np.asarray(start), centres=centres)
    return dataclasses.replace(problem, network=network, sampler=sampler)


def network_for(problem: Problem, box: Box, ground: GaussianState, outputs: int, batch: int, key: PRNGKeyArray) -> Any:
    """An `Ansatz` for a ground state of this size, with a factor for Dirichlet faces."""
    inputs = ManyInputs.of(box, ground.mean, ground.covariance, problem.operator.singularities())
    diffusion = np.asarray(local_form(problem.descending, jnp.asarray(ground.mean[None])).diffusion)
    along = np.array(inputs.matrix).reshape(inputs.unbounded, inputs.unbounded) ** 2
    energies = along @ diffusion[list(inputs.open_axes)]
    products = lowest_products(energies, min(PRODUCTS_PER_FUNCTION * outputs, MOST_PRODUCTS))
    anharmonic = lowest_products(energies, MOST_ANHARMONIC, least=3)

    def made(width: int) -> Ansatz:
        return Ansatz(inputs, outputs, width=width, products=products, anharmonic=anharmonic, key=key)

    most = min(batch * outputs / ROWS_PER_PARAMETER, PARAMETERS.get(jax.default_backend(), OTHER_PARAMETERS))
    width = next((width for width in WIDTHS if _parameters(made, width) <= most), WIDTHS[-1])
    ansatz = made(width)
    if dirichlet_factor_of(box) is None:
        return ansatz
    return Multiply(ThinDirichletFactor(box, np.sqrt(np.diag(ground.covariance)).tolist()), ansatz)


def _parameters(made: Any, width: int) -> int:
    arrays = jax.eval_shape(lambda: eqx.filter(made(width), eqx.is_inexact_array))
    return sum(leaf.size for leaf in jax.tree.leaves(arrays))


def ground_state_size(problem: Problem, found: Explored) -> tuple[GaussianState, Float[np.ndarray, "c d"]]:
    """Mean and covariance of the squared ground state, and points to start from.

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
        return walked, found.points
    key = stream(problem.seed, Stream.GAUSSIAN)
    gaussian = self_consistent_gaussian(problem.descending, domain.box, walked, key)
    if gaussian is None:
        return walked, found.points
    root = np.linalg.cholesky(gaussian.covariance)
    distances = (np.linalg.solve(root, (found.points - gaussian.mean).T) ** 2).sum(0)
    if dims <= MOST_WALKED and distances.mean() > FITS * dims:
        return walked, found.points
    drawn = gaussian.mean + np.random.default_rng(problem.seed).normal(size=found.points.shape) @ root.T
    low, high = np.array(domain.box.low), np.array(domain.box.high)
    return gaussian, drawn[((drawn > low) & (drawn < high)).all(1)]


def with_lowest_outputs(
    operator: Operator, network: Any, chains: MarkovChains, outputs: int, batch: int, seed: int
) -> tuple[Any, Float[Array, "b d"]]:
    """The network with the best combinations of its features as outputs, and where the chains ended."""
    features = hidden_layer(network)
    key = stream(seed, Stream.FIRST_OUTPUTS)
    state = chains.init(features, key, batch)
    count = jax.eval_shape(features, state.x[0]).shape[0]
    draws = -(-POINTS_PER_FEATURE * count // batch)
    state, sigma, pi = _feature_moments(operator, features, chains, state, key, draws)
    best = lowest(np.asarray(sigma, np.float64), np.asarray(pi, np.float64), outputs, [CUTOFF])[0]
    weights = best.coefficients.T / np.sqrt(np.mean(best.coefficients**2))
    where = (lambda n: n.network.outputs) if isinstance(network, Multiply) else (lambda n: n.outputs)
    return eqx.tree_at(where, network, jnp.asarray(weights, state.x.dtype)), state.x


@eqx.filter_jit
def _feature_moments(
    operator: Operator, features: Any, chains: MarkovChains, state: Any, key: PRNGKeyArray, draws: int
) -> tuple[Any, Array, Array]:
    """Σ and Π of the features on several draws of the chains."""

    def draw(before: Any, key: PRNGKeyArray) -> tuple[Any, tuple[Array, Array]]:
        after, batch = chains.draw(before, features, key, len(before.x))
        u = jax.vmap(features)(batch.x)
        ku = operator.apply(features, batch, u)
        return after, (second_moment(u, u, batch.weights), second_moment(u, ku, batch.weights))

    state, (sigma, pi) = jax.lax.scan(draw, state, jax.random.split(key, draws))
    return state, sigma.mean(0), pi.mean(0)

"""Where the states of a Hamiltonian are, before any is known: walkers that diffuse, die and multiply."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from eigenax.core.batch import Points
from eigenax.core.lattice import drawn_in_proportion, shifted_lattice
from eigenax.domains.box import Box
from eigenax.operators.base import Operator

STEPS, LAST_STEPS = 400, 40
"""How often walkers move to become the ground state, and further to tell how many descend from each."""
FIRST_STEP, LAST_STEP = 1.0, 0.1
"""Times the inverse spread of the potential among the walkers: coarse while they gather, fine at the end."""
LOWEST = 0.02
"""The share of walkers whose potential counts as no lower than the others': one close to a nucleus would replace
them all."""
LOOKED_AT = 256
"""Points that tell whether there is a diffusion."""


class Motion(NamedTuple):
    """A local operator read as −D ∇² + V at some points."""

    potential: Float[Array, " b"]
    diffusion: Float[Array, " d"]


def walk(
    operator: Operator, box: Box, key: PRNGKeyArray, walkers: int
) -> tuple[Float[np.ndarray, "b d"], Float[np.ndarray, " b"]]:
    """Weighted points with about the density of the ground state's square.

    exp(−t K) of anything becomes the ground state v. Each step moves walkers by a Gaussian of variance 2 D t and draws
    them anew with weights exp(−t V); they begin anywhere in the box. Where V is constant they stay everywhere. Only V
    is needed, in any number of dimensions. They then have the density of v, and how many descend from each of them
    after some more steps is its v, too.
    """
    points, descendants = _all_steps(operator, box, key, walkers)
    return np.asarray(points, np.float64), np.asarray(descendants, np.float64)


@eqx.filter_jit
def _all_steps(operator: Operator, box: Box, key: PRNGKeyArray, walkers: int) -> tuple[Array, Array]:
    """Where walkers end, and how many descend from each."""
    here = jnp.arange(walkers)

    def move(before: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        (x, ancestors), (key, fineness) = before, now
        for_draw, for_move = jax.random.split(key)
        potential, diffusion = read(operator, x)
        lowest, low, middle = jnp.quantile(potential, jnp.asarray([LOWEST, 2 * LOWEST, 0.5]))
        potential = jnp.maximum(potential, lowest)
        longest = jnp.min((0.2 * jnp.asarray(box.half_width, x.dtype)) ** 2 / (2 * diffusion))
        time = jnp.minimum(fineness / jnp.maximum(middle - low, jnp.finfo(x.dtype).tiny), longest)
        chosen = drawn_in_proportion(for_draw, jnp.exp(-time * (potential - lowest)), len(x))
        moved = x[chosen] + jnp.sqrt(2 * time * diffusion) * jax.random.normal(for_move, x.shape, x.dtype)
        return (_at_edges(box, moved, x[chosen]), ancestors[chosen]), None

    for_start, *for_steps = jax.random.split(key, 3)
    x = box.place(shifted_lattice(for_start, walkers, box.numbers))
    coarse_to_fine = jnp.geomspace(FIRST_STEP, LAST_STEP, STEPS)
    (x, _), _ = jax.lax.scan(move, (x, here), (jax.random.split(for_steps[0], STEPS), coarse_to_fine))
    fine = jnp.full(LAST_STEPS, LAST_STEP)
    (_, ancestors), _ = jax.lax.scan(move, (x, here), (jax.random.split(for_steps[1], LAST_STEPS), fine))
    return x, jnp.bincount(ancestors, length=walkers)


def can_walk(operator: Operator, box: Box) -> bool:
    """Whether an operator can be read as −D ∇² + V with D > 0: plates and drifts cannot, nor what has no K u."""
    return not (operator.weak or operator.complex) and bool(_diffuses(operator, box))


@eqx.filter_jit
def _diffuses(operator: Operator, box: Box) -> Bool[Array, ""]:
    x = box.place(shifted_lattice(jax.random.key(0), LOOKED_AT, box.numbers))
    potential, diffusion = _read(operator, x)
    return jnp.isfinite(potential).all() & (diffusion > 0).all() & jnp.isfinite(diffusion).all()


def read(operator: Operator, x: Float[Array, "b d"]) -> Motion:
    """V is K applied to the constant function, D what is left of K applied to half the square of a coordinate."""
    potential, diffusion = _read(operator, x)
    return Motion(potential, jnp.maximum(diffusion, jnp.finfo(x.dtype).tiny))


def _read(operator: Operator, x: Float[Array, "b d"]) -> Motion:

    def probe(y: Array) -> Array:
        return jnp.concatenate([jnp.ones(1, y.dtype), y**2 / 2])

    u = jax.vmap(probe)(x)
    ku = operator.apply(probe, Points(x, jnp.ones(len(x), x.dtype)), u)
    potential = ku[:, 0]
    diffusion = jnp.mean(potential[:, None] * u[:, 1:] - ku[:, 1:], 0)
    return Motion(potential, diffusion)


def _at_edges(box: Box, moved: Float[Array, "b d"], before: Float[Array, "b d"]) -> Float[Array, "b d"]:
    """Walkers that cross an edge come in at the other side, turn back, or stay where they were, as the boundary
    says."""
    columns = []
    for axis, kind in enumerate(box.boundary):
        low, high = box.low[axis], box.high[axis]
        y, old = moved[:, axis], before[:, axis]
        if kind == "periodic":
            columns.append(low + (y - low) % (high - low))
        elif kind == "free":
            turned = (y - low) % (2 * (high - low))
            columns.append(low + jnp.minimum(turned, 2 * (high - low) - turned))
        else:
            columns.append(jnp.where((y > low) & (y < high), y, old))
    return jnp.stack(columns, 1)

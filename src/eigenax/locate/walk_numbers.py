"""The random numbers of a walk, drawn by a program of their own: it is compiled once, not anew for each operator."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.core.lattice import shifted_lattice

STEPS = 400
"""Steps after which walkers have the density of the ground state."""
LAST_STEPS = 40
"""Further steps, over which the descendants of each walker are counted."""
FIRST_STEP, LAST_STEP = 1.0, 0.1
"""Time steps in units of 1 / (the spread of V among the walkers): coarse while they gather, fine at the end."""
SCAN_FACTOR = 32
"""The scan for narrow holes of the potential, which walkers would miss, looks at this many points for each walker."""
COOLING_STEPS = 300
"""Metropolis steps of the annealing."""
EARLY_STEPS = 50
"""Positions of walkers in the first steps, up to this one, are kept as places where higher states may be."""
REMEMBERED = 64
"""Walkers whose positions are kept at each step."""


class WalkNumbers(NamedTuple):
    """All random numbers of a walk, whatever the operator."""

    start: Float[Array, "b m"]
    """Numbers between 0 and 1 that make the first points."""
    scan: Float[Array, "s m"]
    """Those that make the points of the scan for narrow holes."""
    offsets: Float[Array, " t"]
    """Where systematic resampling begins at each step."""
    moves: Float[Array, "t b d"]
    """Gaussian moves at each step."""
    times: Int[Array, " p"]
    """The steps whose positions are kept."""
    walkers: Int[Array, " p"]
    """Which walkers these are, of those remembered."""
    cooling: Float[Array, "c g q"]
    """Gaussians of the annealing, g = 3 + d of them for each point at each step."""
    fineness: Float[Array, " t"]
    """The time steps, which are not random."""


@partial(jax.jit, static_argnums=(1, 2, 3))
def walk_numbers(key: PRNGKeyArray, walkers: int, numbers: int, dims: int) -> WalkNumbers:
    """The numbers of a walk in so many dimensions, on a box whose points take so many `numbers` each.

    >>> walk_numbers(jax.random.key(0), 64, 1, 1).moves.shape
    (440, 64, 1)
    """
    for_start, *for_steps = jax.random.split(key, 3)
    lengths = STEPS, LAST_STEPS
    keys = jnp.concatenate([jax.random.split(one, n) for one, n in zip(for_steps, lengths, strict=True)])
    for_draws, for_moves = jax.vmap(jax.random.split, out_axes=1)(keys)
    for_times, for_choice, for_cooling = jax.random.split(jax.random.fold_in(key, 1), 3)
    kept = (walkers // 4,)
    return WalkNumbers(
        shifted_lattice(for_start, walkers, numbers),
        shifted_lattice(for_start, SCAN_FACTOR * walkers, numbers),
        jax.vmap(jax.random.uniform)(for_draws),
        jax.lax.map(lambda one: jax.random.normal(one, (walkers, dims)), for_moves),
        jnp.exp(jax.random.uniform(for_times, kept, maxval=jnp.log(EARLY_STEPS))).astype(int),
        jax.random.randint(for_choice, kept, 0, REMEMBERED),
        jax.lax.map(
            lambda one: jax.random.normal(one, (3 + dims, *kept)), jax.random.split(for_cooling, COOLING_STEPS)
        ),
        jnp.append(jnp.geomspace(FIRST_STEP, LAST_STEP, STEPS), jnp.full(LAST_STEPS, LAST_STEP)),
    )

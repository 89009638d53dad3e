"""Where the states of a Hamiltonian are, before any is known: walkers that diffuse, die and multiply."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from eigenax.core.batch import Points
from eigenax.core.lattice import drawn_in_proportion, shifted_lattice
from eigenax.core.random_streams import Stream, stream
from eigenax.domains.box import Box
from eigenax.operators.base import Operator
from eigenax.problem import Problem

STEPS, LAST_STEPS = 400, 40
"""How often walkers move to become the ground state, and further to tell how many descend from each."""
FIRST_STEP, LAST_STEP = 1.0, 0.1
"""Times the inverse spread of the potential among the walkers: coarse while they gather, fine at the end."""
LOWEST = 0.02
"""The share of walkers whose potential counts as no lower than the others': one close to a nucleus would replace
them all."""
SCANNED = 32
"""Times as many points are looked at for where the potential is lowest, as in a hole that walkers would pass by."""
COOLING, WARMEST = 300, 8.0
"""Steps in which points cool down, and how much warmer than the ground state some of them stay."""
WALKERS = 4096
"""How many there are."""
FAR, SOME = 4.0, 0.03
"""Standard deviations from the ground state, and half as many times the root of the dimension, that are far away; and
the share of points there that make it a place."""
PASSED, SEEN = 50, 64
"""Steps on the way, and walkers that are remembered of each."""
LOOKED_AT = 256
"""Points that tell whether there is a diffusion."""


class LocalForm(NamedTuple):
    """A local operator read as −D ∇² + V at some points."""

    potential: Float[Array, " b"]
    diffusion: Float[Array, " d"]


class Explored(NamedTuple):
    """Where walkers were."""

    points: Float[np.ndarray, "b d"]
    """With the density of the ground state v."""
    descendants: Float[np.ndarray, " b"]
    """In proportion to v."""
    passed: Float[np.ndarray, "p d"]
    """Where some of them came by."""
    cooled: Float[np.ndarray, "c d"]
    """In every well, the coldest first."""

    @property
    def elsewhere(self) -> Float[np.ndarray, "e d"]:
        """Where higher states may be."""
        return np.concatenate([self.passed, self.cooled])

    @property
    def everywhere(self) -> Float[np.ndarray, "a d"]:
        """The same, and as many points of the ground state, which a basis that knows little may have missed."""
        return np.concatenate([self.elsewhere, self.points[: len(self.elsewhere)]])

    @property
    def other_wells(self) -> Float[np.ndarray, "w d"]:
        """The colder half of the points in every well that are far from the ground state, if there are any."""
        dims = self.points.shape[1]
        inverse = np.linalg.pinv(np.cov(self.points.T).reshape(dims, dims))
        away = self.cooled[: len(self.cooled) // 2] - self.points.mean(0)
        distance = np.sqrt(np.einsum("ci,ij,cj->c", away, inverse, away))
        far = self.cooled[: len(away)][distance > FAR + FAR / 2 * np.sqrt(dims)]
        return far if len(far) > SOME * len(away) else far[:0]


def diffusion_monte_carlo(operator: Operator, box: Box, key: PRNGKeyArray, walkers: int) -> Explored:
    """Points with about the density of the ground state, and points on the way there.

    exp(−t K) of anything becomes the ground state v. Each step moves walkers by a Gaussian of variance 2 D t and draws
    them anew with weights exp(−t V); they begin anywhere in the box. Where V is constant they stay everywhere. Only V
    is needed, in any number of dimensions. They then have the density of v, and how many descend from each of them
    after some more steps is its v, too. Higher states are where they are on the way, and where points that cool down
    in the well they are in come to rest, since all walkers end in the deepest one.
    """
    return Explored(*(np.asarray(part, np.float64) for part in _all_steps(operator, box, key, walkers)))


@eqx.filter_jit
def _all_steps(operator: Operator, box: Box, key: PRNGKeyArray, walkers: int) -> tuple[Array, Array, Array, Array]:
    """Where walkers end, how many descend from each, where some were before, and where points come to that cool."""
    here = jnp.arange(walkers)

    def move(before: tuple[Array, Array, Array], now: tuple[Array, Array, Array]) -> tuple[Any, Array]:
        (x, gathered, ancestors), (key, fineness, step) = before, now
        gathered, ancestors = (jnp.where(step == STEPS, a, b) for a, b in ((x, gathered), (here, ancestors)))
        for_draw, for_move = jax.random.split(key)
        potential, diffusion = local_form(operator, x)
        lowest, low, middle = jnp.quantile(potential, jnp.asarray([LOWEST, 2 * LOWEST, 0.5]))
        potential = jnp.maximum(potential, lowest)
        longest = jnp.min((0.2 * jnp.asarray(box.half_width, x.dtype)) ** 2 / (2 * diffusion))
        time = jnp.minimum(fineness / jnp.maximum(middle - low, jnp.finfo(x.dtype).tiny), longest)
        chosen = drawn_in_proportion(for_draw, jnp.exp(-time * (potential - lowest)), len(x))
        moved = x[chosen] + jnp.sqrt(2 * time * diffusion) * jax.random.normal(for_move, x.shape, x.dtype)
        return (_at_edges(box, moved, x[chosen]), gathered, ancestors[chosen]), x[:: len(x) // SEEN][:SEEN]

    for_start, *for_steps = jax.random.split(key, 3)
    start = box.icdf(shifted_lattice(for_start, walkers, box.n_uniforms))
    coarse_to_fine, fine = jnp.geomspace(FIRST_STEP, LAST_STEP, STEPS), jnp.full(LAST_STEPS, LAST_STEP)
    keys = jnp.concatenate(
        [jax.random.split(one, len(f)) for one, f in zip(for_steps, (coarse_to_fine, fine), strict=True)]
    )
    steps = keys, jnp.concatenate([coarse_to_fine, fine]), jnp.arange(STEPS + LAST_STEPS)
    (_, gathered, ancestors), earlier = jax.lax.scan(move, (start, start, here), steps)
    for_times, for_choice, for_cooling = jax.random.split(jax.random.fold_in(key, 1), 3)
    times = jnp.exp(jax.random.uniform(for_times, (walkers // 4,), maxval=jnp.log(PASSED))).astype(int)
    passed = earlier[times, jax.random.randint(for_choice, times.shape, 0, SEEN)]
    many = box.icdf(shifted_lattice(for_start, SCANNED * walkers, box.n_uniforms))
    potentials = jax.lax.map(lambda x: potential_of(operator, x), many.reshape(SCANNED, walkers, -1)).ravel()
    _, deepest = jax.lax.top_k(-potentials, walkers // 16)
    cooled = _cooled(operator, box, for_cooling, start[1::4].at[::4].set(many[deepest]), gathered)
    return gathered, jnp.bincount(ancestors, length=walkers), passed, cooled


def _cooled(
    operator: Operator, box: Box, key: PRNGKeyArray, start: Float[Array, "c d"], ground: Float[Array, "b d"]
) -> Float[Array, "c d"]:
    """Where points come to that cool down, each in the well it is in, to about the energy of the ground state.

    None of them gives way to another, so that wells keep theirs however deep others are. Steps are Metropolis' and a
    part of the ground state's width, which hardly any leads into another well.
    """
    potential = potential_of(operator, ground)
    coldest = 2 * (jnp.mean(potential) - jnp.quantile(potential, LOWEST)) / ground.shape[1]
    width = jnp.minimum(ground.std(0), jnp.asarray(box.half_width, ground.dtype))
    warmth = jnp.exp(jnp.linspace(0, jnp.log(WARMEST), len(start)))
    begins = potential_of(operator, start)
    hottest = jnp.maximum(jnp.quantile(begins, 0.5) - jnp.min(begins), coldest)

    def move(before: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        (x, energy), (key, share) = before, now
        # One draw for all, which is quick to compile: |g| of a Gaussian for sizes, two squares for an exponential.
        size, first, second, *direction = jax.random.normal(key, (3 + x.shape[1], len(x)), x.dtype)
        step = jnp.exp(-jnp.abs(size))[:, None] * width * jnp.stack(direction, 1)
        proposed = _at_edges(box, x + step, x)
        there = potential_of(operator, proposed)
        temperature = jnp.maximum(warmth * coldest, jnp.finfo(x.dtype).tiny) ** share * hottest ** (1 - share)
        taken = (first**2 + second**2) / 2 > (there - energy) / temperature
        return (jnp.where(taken[:, None], proposed, x), jnp.where(taken, there, energy)), None

    cooling = jax.random.split(key, COOLING), jnp.linspace(0, 1, COOLING)
    (x, _), _ = jax.lax.scan(move, (start, begins), cooling)
    return x


def explore(problem: Problem, repeat: int = 0) -> Explored | None:
    """Where diffusion finds the ground state of −D∇² + V on a box, and others may be; nothing of other problems.

    Other repeats are other walks.
    """
    domain = problem.domain
    if domain is None or domain.embedding is not None or not can_diffuse(problem.descending, domain.box):
        return None
    key = stream(problem.seed, Stream.DIFFUSION)
    return diffusion_monte_carlo(
        problem.descending, domain.box, jax.random.fold_in(key, repeat) if repeat else key, WALKERS
    )


def can_diffuse(operator: Operator, box: Box) -> bool:
    """Whether an operator can be read as −D ∇² + V with D > 0: plates and drifts cannot, nor what has no K u."""
    return not (operator.weak or operator.complex) and bool(_diffuses(operator, box))


@eqx.filter_jit
def _diffuses(operator: Operator, box: Box) -> Bool[Array, ""]:
    x = box.icdf(shifted_lattice(jax.random.key(0), LOOKED_AT, box.n_uniforms))
    potential, diffusion = _local_form(operator, x)
    return jnp.isfinite(potential).all() & (diffusion > 0).all() & jnp.isfinite(diffusion).all()


def local_form(operator: Operator, x: Float[Array, "b d"]) -> LocalForm:
    """V is K applied to the constant function, D what is left of K applied to half the square of a coordinate."""
    potential, diffusion = _local_form(operator, x)
    return LocalForm(potential, jnp.maximum(diffusion, jnp.finfo(x.dtype).tiny))


def potential_of(operator: Operator, x: Float[Array, "b d"]) -> Float[Array, " b"]:
    """V, which is K applied to the constant function."""
    one = jnp.ones((len(x), 1), x.dtype)
    return operator.apply(lambda y: jnp.ones(1, y.dtype), Points(x, one[:, 0]), one)[:, 0]


def _local_form(operator: Operator, x: Float[Array, "b d"]) -> LocalForm:

    def probe(y: Array) -> Array:
        return jnp.concatenate([jnp.ones(1, y.dtype), y**2 / 2])

    u = jax.vmap(probe)(x)
    ku = operator.apply(probe, Points(x, jnp.ones(len(x), x.dtype)), u)
    potential = ku[:, 0]
    diffusion = jnp.mean(potential[:, None] * u[:, 1:] - ku[:, 1:], 0)
    return LocalForm(potential, diffusion)


def _at_edges(box: Box, moved: Float[Array, "b d"], before: Float[Array, "b d"]) -> Float[Array, "b d"]:
    """Walkers that cross an edge come in at the other side or turn back, as the boundary says; where it is zero, or far
    outside, they stay where they were."""
    columns = []
    for axis, (lower, upper) in enumerate(box.faces):
        low, high = box.low[axis], box.high[axis]
        y, old = moved[:, axis], before[:, axis]
        if lower == "periodic":
            columns.append(low + (y - low) % (high - low))
            continue
        y = jnp.where(y < low, 2 * low - y, y) if lower == "neumann" else y
        y = jnp.where(y > high, 2 * high - y, y) if upper == "neumann" else y
        columns.append(jnp.where((y > low) & (y < high), y, old))
    return jnp.stack(columns, 1)

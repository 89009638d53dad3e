"""Diffusion Monte Carlo: walkers that diffuse, die and multiply tell where the states are before any is known."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from eigenax.core.batch import Points
from eigenax.core.compiled import compiled, for_one_run
from eigenax.core.lattice import resampled, shifted_lattice
from eigenax.core.precision import full_precision
from eigenax.core.random_streams import Stream, stream
from eigenax.domains.box import Box
from eigenax.locate.walk_numbers import (
    COOLING_STEPS,
    LAST_STEPS,
    REMEMBERED,
    SCAN_FACTOR,
    STEPS,
    WalkNumbers,
    walk_numbers,
)
from eigenax.operators.base import Operator
from eigenax.problem import Problem

CLIPPED = 0.02
"""V is raised to this quantile of V among the walkers where it is lower: otherwise the descendants of a single walker
close to a nucleus would replace all others."""
WARMEST = 8.0
"""The highest final temperature of annealed points, in units of the lowest, which is about the ground state's."""
WALKERS = 4096
"""The number of walkers."""
FAR = 4.0
"""In d dimensions a point is far from the ground state beyond FAR (1 + √d/2) of its standard deviations."""
LEAST_FAR = 0.03
"""If fewer than this share of the colder annealed points are far away, there is no other well."""
PROBE_POINTS = 256
"""Points at which it is checked that an operator is of the form −D ∇² + V."""


class LocalForm(NamedTuple):
    """V and D of an operator −D ∇² + V, with a D for each axis."""

    potential: Float[Array, " b"]
    """V at each of b points."""
    diffusion: Float[Array, " d"]
    """D along each axis."""


class Explored(NamedTuple):
    """What the walkers have found."""

    points: Float[np.ndarray, "b d"]
    """Walkers, whose density is that of the ground state v."""
    descendants: Float[np.ndarray, " b"]
    """The number of descendants of each walker; its expected value is proportional to v at the walker."""
    passed: Float[np.ndarray, "p d"]
    """Where walkers were on the way to the ground state."""
    cooled: Float[np.ndarray, "c d"]
    """Annealed points in every well, the coldest first."""

    @property
    def elsewhere(self) -> Float[np.ndarray, "e d"]:
        """Points where higher states may be."""
        return np.concatenate([self.passed, self.cooled])

    @property
    def everywhere(self) -> Float[np.ndarray, "a d"]:
        """`elsewhere`, and up to as many points of the ground state, since a poor basis may miss even that."""
        return np.concatenate([self.elsewhere, self.points[: len(self.elsewhere)]])

    @property
    def other_wells(self) -> Float[np.ndarray, "w d"]:
        """The points far from the ground state, of the colder half of `cooled`; none if they are too few for a well."""
        dims = self.points.shape[1]
        inverse = np.linalg.pinv(np.cov(self.points.T).reshape(dims, dims))
        away = self.cooled[: len(self.cooled) // 2] - self.points.mean(0)
        distance = np.sqrt(np.einsum("ci,ij,cj->c", away, inverse, away))
        far = self.cooled[: len(away)][distance > FAR + FAR / 2 * np.sqrt(dims)]
        return far if len(far) > LEAST_FAR * len(away) else far[:0]


def diffusion_monte_carlo(operator: Operator, box: Box, key: PRNGKeyArray, walkers: int) -> Explored:
    """Points with about the density of the ground state v of K = −D ∇² + V, and points where higher states may be.

    exp(−t K) turns any positive function into a multiple of v as t grows. Walkers start uniformly in the box. Each step
    of length t redraws them with weights exp(−t V) and then moves each by a Gaussian of variance 2 D t. In the end
    their density is v, and the mean number of descendants of a walker after some more steps is proportional to v, too.
    Where V is constant walkers stay everywhere. Only V and D are needed, in any number of dimensions.

    Higher states may be where walkers were on the way, and in other wells: since all walkers end in the deepest well,
    further points are annealed, each in the well it is in.
    """
    draws = walk_numbers(key, walkers, box.n_uniforms, box.shape[0])
    return Explored(*(np.asarray(part, np.float64) for part in _walked(operator, box, draws)))


@compiled
def _walked(operator: Operator, box: Box, draws: WalkNumbers) -> tuple[Array, Array, Array, Array]:
    """The fields of `Explored`."""
    walkers = len(draws.start)
    here = jnp.arange(walkers)

    def move(before: tuple[Array, Array, Array], now: tuple[Array, ...]) -> tuple[Any, Array]:
        (x, at_ground, ancestors), (offset, gaussian, fineness, step) = before, now
        at_ground, ancestors = (jnp.where(step == STEPS, a, b) for a, b in ((x, at_ground), (here, ancestors)))
        potential, diffusion = local_form(operator, x)
        lowest, low, middle = jnp.quantile(potential, jnp.asarray([CLIPPED, 2 * CLIPPED, 0.5]))
        potential = jnp.maximum(potential, lowest)
        longest = jnp.min((0.2 * jnp.asarray(box.half_width, x.dtype)) ** 2 / (2 * diffusion))
        time = jnp.minimum(fineness / jnp.maximum(middle - low, jnp.finfo(x.dtype).tiny), longest)
        chosen = resampled(offset, jnp.exp(-time * (potential - lowest)), len(x))
        moved = x[chosen] + jnp.sqrt(2 * time * diffusion) * gaussian
        return (_within_box(box, moved, x[chosen]), at_ground, ancestors[chosen]), x[:: len(x) // REMEMBERED][
            :REMEMBERED
        ]

    start = box.icdf(draws.start)
    steps = draws.offsets, draws.moves, draws.fineness, jnp.arange(STEPS + LAST_STEPS)
    (_, at_ground, ancestors), earlier = jax.lax.scan(move, (start, start, here), steps)
    passed = earlier[draws.times, draws.walkers]
    many = box.icdf(draws.scan)
    potentials = jax.lax.map(lambda x: potential_of(operator, x), many.reshape(SCAN_FACTOR, walkers, -1)).ravel()
    _, deepest = jax.lax.top_k(-potentials, walkers // 16)
    cooled = _annealed(operator, box, draws.cooling, start[1::4].at[::4].set(many[deepest]), at_ground)
    return at_ground, jnp.bincount(ancestors, length=walkers), passed, cooled


def _annealed(
    operator: Operator,
    box: Box,
    gaussians: Float[Array, "c g q"],
    start: Float[Array, "q d"],
    ground: Float[Array, "b d"],
) -> Float[Array, "q d"]:
    """Simulated annealing: where points come to as they cool down to about the energy of the ground state.

    Points do not replace each other, so a well keeps its points however deep the others are. Metropolis steps are at
    most about as wide as the ground state, so points hardly ever leave their well.
    """
    potential = potential_of(operator, ground)
    coldest = 2 * (jnp.mean(potential) - jnp.quantile(potential, CLIPPED)) / ground.shape[1]
    width = jnp.minimum(ground.std(0), jnp.asarray(box.half_width, ground.dtype))
    warmth = jnp.exp(jnp.linspace(0, jnp.log(WARMEST), len(start)))
    begins = potential_of(operator, start)
    hottest = jnp.maximum(jnp.quantile(begins, 0.5) - jnp.min(begins), coldest)

    def move(before: tuple[Array, Array], now: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        (x, energy), (drawn, share) = before, now
        # |g| gives the size of a step, and (g² + h²)/2, which is exponentially distributed, stands for −log of the
        # uniform number of the Metropolis rule.
        size, first, second, *direction = drawn
        step = jnp.exp(-jnp.abs(size))[:, None] * width * jnp.stack(direction, 1)
        proposed = _within_box(box, x + step, x)
        there = potential_of(operator, proposed)
        temperature = jnp.maximum(warmth * coldest, jnp.finfo(x.dtype).tiny) ** share * hottest ** (1 - share)
        taken = (first**2 + second**2) / 2 > (there - energy) / temperature
        return (jnp.where(taken[:, None], proposed, x), jnp.where(taken, there, energy)), None

    (x, _), _ = jax.lax.scan(move, (start, begins), (gaussians, jnp.linspace(0, 1, COOLING_STEPS)))
    return x


def explore(problem: Problem, repeat: int = 0) -> Explored | None:
    """What walkers find of the states of −D∇² + V on a box; None for other operators and domains.

    Each `repeat` is a walk with other random numbers.
    """
    domain = problem.domain
    if domain is None or domain.embedding is not None or not can_diffuse(problem.descending, domain.box):
        return None
    key = stream(problem.seed, Stream.DIFFUSION)
    with full_precision():
        return diffusion_monte_carlo(
            problem.descending, domain.box, jax.random.fold_in(key, repeat) if repeat else key, WALKERS
        )


def can_diffuse(operator: Operator, box: Box) -> bool:
    """Whether an operator is of the form −D ∇² + V with D > 0: plates, drifts and weak forms are not."""
    return not (operator.weak or operator.complex) and bool(_diffuses(operator, box))


@for_one_run
def _diffuses(operator: Operator, box: Box) -> Bool[Array, ""]:
    x = box.icdf(shifted_lattice(jax.random.key(0), PROBE_POINTS, box.n_uniforms))
    potential, diffusion = _local_form(operator, x)
    return jnp.isfinite(potential).all() & (diffusion > 0).all() & jnp.isfinite(diffusion).all()


def local_form(operator: Operator, x: Float[Array, "b d"]) -> LocalForm:
    """V and D from K 1 = V and K (y²/2) = −D + V y²/2 for each coordinate y; D is kept positive."""
    potential, diffusion = _local_form(operator, x)
    return LocalForm(potential, jnp.maximum(diffusion, jnp.finfo(x.dtype).tiny))


def potential_of(operator: Operator, x: Float[Array, "b d"]) -> Float[Array, " b"]:
    """V = K 1: the operator applied to the constant function."""
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


def _within_box(box: Box, moved: Float[Array, "b d"], before: Float[Array, "b d"]) -> Float[Array, "b d"]:
    """Apply the boundary conditions to walkers that have crossed an edge of the box.

    Periodic: they enter at the other side. Neumann: they are reflected. Dirichlet, or still outside after a reflection:
    they stay where they were `before`.
    """
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

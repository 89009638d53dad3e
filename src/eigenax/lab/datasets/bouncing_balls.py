"""Discs that bounce off the walls of a box and off each other: the paper's video, and what is behind it."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

TRIES = 10_000
"""Number of random places that are tried for all discs together."""


class Balls(NamedTuple):
    """Positions of discs of equal mass in each frame, in pixels, and velocities, in pixels per frame."""

    positions: Float[np.ndarray, "time balls 2"]
    velocities: Float[np.ndarray, "time balls 2"]


def bouncing_balls(
    frames: int, *, balls: int = 3, size: float = 64.0, radius: float = 6.0, speed: float = 2.0, seed: int = 0
) -> Balls:
    """Simulate elastic discs from one collision to the next; the motion conserves energy and is reversible in time.

    All discs start with the same speed, in pixels per frame, at random places and in random directions.

    >>> bouncing_balls(100).positions.shape
    (100, 3, 2)
    """
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, balls)
    velocities = speed * np.stack([np.cos(angles), np.sin(angles)], 1)
    return moved(_places(rng, balls, size, radius), velocities, frames, size, radius)


def moved(
    positions: Float[np.ndarray, "balls 2"],
    velocities: Float[np.ndarray, "balls 2"],
    frames: int,
    size: float = 64.0,
    radius: float = 6.0,
) -> Balls:
    """Simulate discs for this many frames, from the positions and velocities in the first."""
    # The simulation is sequential, which a CPU does faster than a GPU.
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        limits = jnp.asarray([radius, size - radius])
        start = jnp.asarray(positions, float), jnp.asarray(velocities, float)
        return Balls(*(np.asarray(part) for part in _simulated(start, limits, frames)))


def _places(rng: np.random.Generator, balls: int, size: float, radius: float) -> Float[np.ndarray, "balls 2"]:
    """Random places where no two discs overlap."""
    places = np.zeros((0, 2))
    for _ in range(TRIES):
        if len(places) == balls:
            return places
        place = rng.uniform(radius, size - radius, 2)
        if (np.linalg.norm(places - place, axis=1) > 2 * radius).all():
            places = np.append(places, [place], axis=0)
    raise ValueError(
        f"{balls} balls of radius {radius:g} do not fit into a box of {size:g}; take fewer or smaller ones"
    )


@jax.jit(static_argnums=2)
def _simulated(start: tuple[Array, Array], limits: Array, frames: int) -> tuple[Array, Array]:
    def frame(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        return _one_frame(state, limits), state

    return jax.lax.scan(frame, start, length=frames)[1]


def _one_frame(state: tuple[Array, Array], limits: Array) -> tuple[Array, Array]:
    """Advance by one frame, through all the collisions in it."""

    def step(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, v, left = carry
        until_wall, until_pair = _until_walls(x, v, limits), _until_pairs(x, v, 2 * limits[0])
        first = jnp.minimum(until_wall.min(), until_pair.min())
        x = x + v * jnp.minimum(first, left)
        bounced = jnp.where(until_wall == first, -v, v)
        bounced = jnp.where((until_pair == first).any(), _exchanged(x, v, until_pair), bounced)
        return x, jnp.where(first < left, bounced, v), left - first

    x, v, _ = jax.lax.while_loop(lambda carry: carry[2] > 0, step, (*state, jnp.ones_like(state[0][0, 0])))
    return x, v


def _until_walls(x: Float[Array, "balls 2"], v: Float[Array, "balls 2"], limits: Array) -> Float[Array, "balls 2"]:
    wall = jnp.where(v > 0, limits[1], limits[0])
    return jnp.where(v == 0, jnp.inf, jnp.maximum((wall - x) / jnp.where(v == 0, 1, v), 0))


def _until_pairs(x: Float[Array, "balls 2"], v: Float[Array, "balls 2"], contact: Array) -> Float[Array, "balls balls"]:
    """The time until each approaching pair touches: the earlier root t of |Δx + t Δv| = contact; else infinity."""
    apart, closing = x[:, None] - x, v[:, None] - v
    approach, squared = (apart * closing).sum(-1), (closing**2).sum(-1)
    root = approach**2 - squared * ((apart**2).sum(-1) - contact**2)
    meet = (approach < 0) & (root >= 0)
    time = (-approach - jnp.sqrt(jnp.where(meet, root, 1))) / jnp.where(meet, squared, 1)
    return jnp.where(meet, jnp.maximum(time, 0), jnp.inf)


def _exchanged(x: Array, v: Array, until_pair: Array) -> Float[Array, "balls 2"]:
    """Velocities after the first pair to touch has exchanged its components along the line of the centres."""
    i, j = jnp.unravel_index(jnp.argmin(until_pair), until_pair.shape)
    line = x[i] - x[j]
    along = ((v[i] - v[j]) @ line) / (line @ line) * line
    return v.at[i].add(-along).at[j].add(along)


class Discs(eqx.Module):
    """Draws discs at given positions as an image (1, size, size) from 0 to 1, with soft edges one pixel wide.

    >>> Discs(64, 6.0)(jnp.full((1, 2), 32.0)).sum().round()
    Array(113., dtype=float32)
    """

    size: int = eqx.field(static=True)
    radius: float = eqx.field(static=True)

    def __call__(self, positions: Float[Array, "balls 2"]) -> Float[Array, "1 size size"]:
        """The image; the first coordinate increases to the right, the second one downwards."""
        middles = jnp.arange(self.size, dtype=positions.dtype) + 0.5
        squared = (middles[:, None] - positions[:, 1, None, None]) ** 2 + (middles - positions[:, 0, None, None]) ** 2
        return jnp.clip(self.radius + 0.5 - jnp.sqrt(squared), 0, 1).max(0, keepdims=True)


@eqx.filter_jit
def drawn(view: Discs, positions: Float[Array, "rows frames balls 2"]) -> Float[Array, "rows pixels"]:
    """All pixels of the successive frames in each row of positions."""
    return jax.vmap(jax.vmap(view))(positions).reshape(len(positions), -1)

"""Potentials that jump, and needles: deep wells that are narrow beside their box."""

import jax.numpy as jnp
import numpy as np

import eigenax as ex
from honesty_problems.base import Found, problem, schroedinger, solved
from honesty_problems.references import line_levels, lowest_sums

KIND = "jumps and needles"


@problem(KIND, "square-well-1d", 25)
def square_well() -> Found:
    exact = line_levels(lambda x: -10.0 * (np.abs(x) < 1), (-6, -1, 1, 6), 4, pieces=24)
    return solved(schroedinger(lambda x: jnp.where(jnp.abs(x[0]) < 1, -10.0, 0.0)), ex.Box(-6, 6), exact)


@problem(KIND, "square-wells-2d", 60)
def square_wells() -> Found:
    """A jump along each axis."""
    across = line_levels(lambda x: -10.0 * (np.abs(x) < 1), (-6, -1, 1, 6), 6, pieces=24)
    up = line_levels(lambda x: -6.0 * (np.abs(x - 1) < 1.5), (-6, -0.5, 2.5, 6), 6, pieces=24)
    operator = schroedinger(
        lambda x: jnp.where(jnp.abs(x[0]) < 1, -10.0, 0.0) + jnp.where(jnp.abs(x[1] - 1) < 1.5, -6.0, 0.0)
    )
    return solved(operator, ex.Box(-6, 6, dims=2), lowest_sums(5, across, up))


@problem(KIND, "step-1d", 25)
def step() -> Found:
    """A box with a step of 50 in its middle third."""
    exact = line_levels(lambda x: 50.0 * ((x > 1) & (x < 2)), (0, 1, 2, 3), 6, pieces=24)
    operator = schroedinger(lambda x: jnp.where((x[0] > 1) & (x[0] < 2), 50.0, 0.0))
    return solved(operator, ex.Box(0, 3), exact)


@problem(KIND, "kronig-penney", 25)
def kronig_penney() -> Found:
    """Four periods of a square wave on a circle."""
    breaks = tuple(np.arange(9) / 2.0)
    exact = line_levels(
        lambda x: np.where(np.floor(2 * x) % 2 == 0, 40.0, 0.0), breaks, 5, ends=("periodic", "periodic"), pieces=32
    )
    operator = schroedinger(lambda x: jnp.where(jnp.floor(2 * x[0]) % 2 == 0, 40.0, 0.0))
    return solved(operator, ex.Box(0, 4, boundary="periodic"), exact)


def _needle(x, centre: float, width: float, depth: float, exp=np.exp):
    return -depth * exp(-(((x - centre) / width) ** 2))


@problem(KIND, "needle-1d", 30)
def needle() -> Found:
    """A needle of width 0.2 beside an oscillator, in ±15."""

    def potential(x, exp=np.exp):
        return 0.1 * x**2 + _needle(x, 7.0, 0.2, 80.0, exp)

    exact = line_levels(potential, (-15, 7, 15), 4, pieces=150)
    return solved(schroedinger(lambda x: potential(x[0], jnp.exp)), ex.Box(-15, 15), exact)


@problem(KIND, "needle-2d", 60)
def needle_in_a_plane() -> Found:
    """A needle along one axis, where it is a tenth of the wide well beside it."""

    def potential(x, exp=np.exp):
        return 0.25 * x**2 + _needle(x, -5.0, 0.3, 40.0, exp)

    along = line_levels(potential, (-9, -5, 9), 5, pieces=100)
    operator = schroedinger(lambda x: potential(x[0], jnp.exp) + x[1] ** 2)
    return solved(operator, ex.Box(-9, 9, dims=2), lowest_sums(5, along, 2.0 * np.arange(5) + 1))


@problem(KIND, "kink-1d", 25)
def kink() -> Found:
    """−u″ + |x| u: zeros of the Airy function and of its derivative."""
    exact = line_levels(np.abs, (-16, 0, 16), 6, pieces=30)
    return solved(schroedinger(lambda x: jnp.abs(x[0])), ex.Box(-16, 16), exact)

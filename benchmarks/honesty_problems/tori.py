"""Periodic boxes."""

import jax.numpy as jnp
import numpy as np

import eigenax as ex
from honesty_problems.base import Found, add, problem, schroedinger, solved
from honesty_problems.references import Line, line_levels, lowest_sums, plane_levels

KIND = "tori"
CIRCLE = (0.0, 2 * np.pi)
PERIODIC = ("periodic", "periodic")


def sum_of_cosines(dims: int, n: int) -> Found:
    along = line_levels(np.cos, CIRCLE, n, ends=PERIODIC)
    operator = schroedinger(lambda x: jnp.sum(jnp.cos(x)))
    return solved(operator, ex.Box(*CIRCLE, dims=dims, boundary="periodic"), lowest_sums(n, *[along] * dims))


for dims, n, seconds in ((1, 5, 25), (2, 5, 50), (3, 5, 120), (5, 6, 200)):
    add(KIND, f"cosines-{dims}d", seconds, lambda dims=dims, n=n: sum_of_cosines(dims, n))


@problem(KIND, "mathieu-1d", 25)
def mathieu() -> Found:
    """−u″ + 20 cos 2x u: two wells alike, whose levels come in close pairs."""
    exact = line_levels(lambda x: 20 * np.cos(2 * x), CIRCLE, 6, ends=PERIODIC, pieces=32)
    operator = schroedinger(lambda x: 20 * jnp.cos(2 * x[0]))
    return solved(operator, ex.Box(*CIRCLE, boundary="periodic"), exact)


@problem(KIND, "coupled-angles-2d", 50)
def coupled_angles() -> Found:
    """Two pendulums, 3 cos(x − y) − cos x − 2 cos y."""

    def potential(x, y, cos=np.cos):
        return 3 * cos(x - y) - cos(x) - 2 * cos(y)

    line = Line(CIRCLE, PERIODIC, pieces=4, degree=12)
    operator = schroedinger(lambda x: potential(x[0], x[1], jnp.cos))
    exact = plane_levels(potential, (line, line), 6)
    return solved(operator, ex.Box(*CIRCLE, dims=2, boundary="periodic"), exact)


@problem(KIND, "free-torus-2d", 30)
def free_torus() -> Found:
    waves = np.arange(-4, 5)
    exact = lowest_sums(7, np.sort((2 * np.pi * waves) ** 2), np.sort((2 * np.pi * waves / 1.5) ** 2))
    return solved(-ex.Laplacian(), ex.Box((0, 0), (1, 1.5), boundary="periodic"), exact)

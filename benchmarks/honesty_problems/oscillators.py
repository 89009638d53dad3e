"""Oscillators, anharmonic and coupled, and empty boxes."""

import jax.numpy as jnp
import numpy as np
from scipy.special import ai_zeros

import eigenax as ex
from honesty_problems.base import Found, add, problem, schroedinger, solved
from honesty_problems.references import Line, line_levels, lowest_sums, plane_levels

KIND = "oscillators and boxes"


def oscillator(frequencies: tuple[float, ...], n: int) -> Found:
    """−∇² + Σ ω² x²."""
    exact = lowest_sums(n, *[w * (2 * np.arange(n) + 1) for w in frequencies])
    operator = schroedinger(lambda x: jnp.sum(jnp.asarray(frequencies) ** 2 * x**2))
    return solved(operator, ex.Box(-7, 7, dims=len(frequencies)), exact)


for frequencies, n, seconds in (((1.0,), 6, 25), ((1.0, 1.3), 6, 40), ((1.0, 1.1, 1.7), 6, 60), ((1.0,) * 10, 6, 120)):
    add(
        KIND,
        f"oscillator-{len(frequencies)}d",
        seconds,
        lambda frequencies=frequencies, n=n: oscillator(frequencies, n),
    )


@problem(KIND, "coupled-oscillators-5d", 90)
def coupled() -> Found:
    """A chain of five, whose normal modes are known."""
    chain = 2 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
    exact = lowest_sums(6, *[w * (2 * np.arange(6) + 1) for w in np.sqrt(np.linalg.eigvalsh(chain))])
    return solved(schroedinger(lambda x: x @ jnp.asarray(chain.tolist()) @ x), ex.Box(-9, 9, dims=5), exact)


@problem(KIND, "quartic-1d", 25)
def quartic() -> Found:
    return solved(schroedinger(lambda x: x[0] ** 4), ex.Box(-5, 5), line_levels(lambda x: x**4, (-5, 0, 5), 6))


@problem(KIND, "quartic-2d", 50)
def coupled_quartic() -> Found:
    """½ p² + ½ r² + x² y², along whose axes functions reach far."""
    line = Line((-8, 8), pieces=6, degree=16)
    exact = plane_levels(lambda x, y: 0.5 * (x**2 + y**2) + x**2 * y**2, (line, line), 6, kinetic=0.5)
    operator = schroedinger(lambda x: 0.5 * jnp.sum(x**2) + x[0] ** 2 * x[1] ** 2, kinetic=0.5)
    return solved(operator, ex.Box(-8, 8, dims=2), exact)


@problem(KIND, "henon-heiles", 50)
def henon_heiles() -> Found:
    def potential(x, y):
        return 0.5 * (x**2 + y**2) + 0.1118 * (x**2 * y - y**3 / 3)

    line = Line((-6.5, 6.5), pieces=6, degree=16)
    exact = plane_levels(potential, (line, line), 6, kinetic=0.5)
    return solved(schroedinger(lambda x: potential(x[0], x[1]), kinetic=0.5), ex.Box(-6.5, 6.5, dims=2), exact)


@problem(KIND, "morse-1d", 25)
def morse() -> Found:
    """−u″ + 30 (1 − e^{−x})² u: bound states up to 30."""
    exact = 30 - (np.sqrt(30) - np.arange(4) - 0.5) ** 2
    return solved(schroedinger(lambda x: 30 * (1 - jnp.exp(-x[0])) ** 2), ex.Box(-2, 18), exact)


@problem(KIND, "falling-1d", 25)
def falling() -> Found:
    """−u″ + x u above a floor: zeros of the Airy function."""
    return solved(schroedinger(lambda x: x[0]), ex.Box(0, 20), -ai_zeros(5)[0])


@problem(KIND, "off-centre-2d", 50)
def off_centre() -> Found:
    """A small well in a corner of a large box, and a NumPy constant in its potential."""
    centre = np.array([13.0, -11.0])
    operator = schroedinger(lambda x: 4 * jnp.sum((x - centre) ** 2))
    return solved(operator, ex.Box(-18, 18, dims=2), lowest_sums(6, *[2 * (2 * np.arange(6) + 1)] * 2))


@problem(KIND, "box-3d", 40)
def box() -> Found:
    sides = (1.0, 1.2, 1.7)
    exact = lowest_sums(6, *[(np.pi * np.arange(1, 8) / side) ** 2 for side in sides])
    return solved(-ex.Laplacian(), ex.Box((0, 0, 0), sides), exact)


@problem(KIND, "mixed-boundaries-3d", 40)
def mixed() -> Found:
    whole = np.arange(8)
    exact = lowest_sums(
        6, (np.pi * (whole + 1)) ** 2, (np.pi * whole / 2) ** 2, np.repeat(2 * np.pi * whole / 3, 2)[1:] ** 2
    )
    return solved(-ex.Laplacian(), ex.Box((0, 0, 0), (1, 2, 3), boundary=("dirichlet", "neumann", "periodic")), exact)


@problem(KIND, "free-well-2d", 40)
def free_well() -> Found:
    """A well whose states feel free walls on one axis and none on the other."""
    across = line_levels(lambda x: x**2, (-1, 1), 6, ends=("neumann", "neumann"))
    operator = schroedinger(lambda x: jnp.sum(x**2))
    exact = lowest_sums(6, across, 2.0 * np.arange(6) + 1)
    return solved(operator, ex.Box((-1, -7), (1, 7), boundary=("neumann", "dirichlet")), exact)


@problem(KIND, "cut-off-1d", 25)
def cut_off() -> Found:
    """An oscillator whose box is too small for it: walls count."""
    return solved(schroedinger(lambda x: x[0] ** 2), ex.Box(-1.5, 2.5), line_levels(lambda x: x**2, (-1.5, 2.5), 5))

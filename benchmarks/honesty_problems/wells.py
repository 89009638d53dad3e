"""Wells of unequal depth, in one to four dimensions."""

import jax.numpy as jnp
import numpy as np

import eigenax as ex
from honesty_problems.base import Found, add, problem, schroedinger, solved
from honesty_problems.references import Line, line_levels, lowest_sums, plane_levels

KIND = "unequal wells"


def double_well(dims: int, tilt: float, n: int) -> Found:
    """½ p² + ¼ (x² − 6)² + tilt x, and oscillators of frequency one along the other axes."""
    along = line_levels(lambda x: 0.25 * (x**2 - 6) ** 2 + tilt * x, (-6, 0, 6), n, kinetic=0.5)
    others = [np.arange(n) + 0.5] * (dims - 1)
    operator = schroedinger(
        lambda x: 0.25 * (x[0] ** 2 - 6) ** 2 + tilt * x[0] + 0.5 * jnp.sum(x[1:] ** 2), kinetic=0.5
    )
    return solved(operator, ex.Box(-6, 6, dims=dims), lowest_sums(n, along, *others))


def two_oscillators(dims: int, offset: float, n: int) -> Found:
    """The lesser of two harmonic wells at ±4, one of them `offset` higher."""

    def along(x: np.ndarray) -> np.ndarray:
        return np.minimum(0.5 * (x - 4) ** 2, 0.5 * (x + 4) ** 2 + offset)

    # The kink, where both are the same, is at offset / 16.
    levels = line_levels(along, (-9, offset / 16, 9), n, kinetic=0.5)
    operator = schroedinger(
        lambda x: jnp.minimum(0.5 * (x[0] - 4) ** 2, 0.5 * (x[0] + 4) ** 2 + offset) + 0.5 * jnp.sum(x[1:] ** 2),
        kinetic=0.5,
    )
    return solved(operator, ex.Box(-9, 9, dims=dims), lowest_sums(n, levels, *[np.arange(n) + 0.5] * (dims - 1)))


for dims, tilt, n, seconds in (
    (1, 0.05, 4, 25),
    (2, 0.05, 4, 60),
    (2, 0.3, 5, 60),
    (3, 0.05, 4, 90),
    (4, 0.05, 4, 120),
):
    add(
        KIND,
        f"double-well-{dims}d-tilt-{tilt:g}",
        seconds,
        lambda dims=dims, tilt=tilt, n=n: double_well(dims, tilt, n),
    )
for dims, offset, n, seconds in ((1, 0.02, 4, 25), (2, 0.3, 5, 60), (3, 1.0, 5, 90)):
    add(
        KIND,
        f"two-oscillators-{dims}d-offset-{offset:g}",
        seconds,
        lambda dims=dims, offset=offset, n=n: two_oscillators(dims, offset, n),
    )


@problem(KIND, "three-wells-1d", 25)
def three_wells() -> Found:
    def potential(x, exp=np.exp):
        return 0.05 * x**2 - 6 * exp(-((x + 5) ** 2)) - 5 * exp(-((x / 0.7) ** 2)) - 6.4 * exp(-((x - 5.5) ** 2) / 0.8)

    exact = line_levels(potential, (-12, 0, 12), 6, pieces=40)
    return solved(schroedinger(lambda x: potential(x[0], jnp.exp)), ex.Box(-12, 12), exact)


@problem(KIND, "three-wells-2d", 80)
def three_wells_in_a_plane() -> Found:
    """Gaussian wells of three depths and widths, which no axis separates."""

    def potential(x, y, exp=np.exp):
        deep = -9 * exp(-((x + 4) ** 2 + (y - 3) ** 2) / 1.5)
        wide = -6 * exp(-((x - 4) ** 2 + (y - 2) ** 2) / 4)
        return deep + wide - 7.5 * exp(-((x - 0.5) ** 2 + (y + 4) ** 2) / 2)

    line = Line((-9, 9), pieces=6, degree=18)
    exact = plane_levels(potential, (line, line), 6)
    return solved(schroedinger(lambda x: potential(x[0], x[1], jnp.exp)), ex.Box(-9, 9, dims=2), exact)


@problem(KIND, "mueller-brown", 80)
def mueller_brown() -> Found:
    """The Schrödinger form of diffusion in the Müller–Brown potential at β = 0.1: its first value is zero."""
    exact = plane_levels(
        lambda x, y: _effective(x, y, np),
        (Line((-2.2, 1.7), pieces=6, degree=24), Line((-1.0, 2.6), pieces=6, degree=24)),
        4,
        kinetic=10.0,
    )
    operator = schroedinger(lambda x: _effective(x[0], x[1], jnp), kinetic=10.0)
    return solved(operator, ex.Box((-2.2, -1.0), (1.7, 2.6)), exact)


def _effective(x, y, np):
    """β/4 |∇V|² − ½ ∇²V."""
    beta, slope_x, slope_y, bend = 0.1, 0.0, 0.0, 0.0
    for height, a, b, c, x0, y0 in (
        (-200.0, -1.0, 0.0, -10.0, 1.0, 0.0),
        (-100.0, -1.0, 0.0, -10.0, 0.0, 0.5),
        (-170.0, -6.5, 11.0, -6.5, -0.5, 1.5),
        (15.0, 0.7, 0.6, 0.7, -1.0, 1.0),
    ):
        u, v = x - x0, y - y0
        value = height * np.exp(a * u**2 + b * u * v + c * v**2)
        by_x, by_y = 2 * a * u + b * v, b * u + 2 * c * v
        slope_x, slope_y = slope_x + value * by_x, slope_y + value * by_y
        bend = bend + value * (by_x**2 + 2 * a + by_y**2 + 2 * c)
    return beta / 4 * (slope_x**2 + slope_y**2) - bend / 2


@problem(KIND, "prinz-schroedinger", 25)
def prinz() -> Found:
    """The Schrödinger form of diffusion in Prinz's potential: its first value is zero."""

    def effective(x, np=np):
        slope, bend = 32 * x**7, 224 * x**6
        for height, sharp, centre in ((0.8, 80, 0.0), (0.2, 80, 0.5), (0.5, 40, -0.5)):
            u = x - centre
            value = 4 * height * np.exp(-sharp * u**2)
            slope, bend = slope - 2 * sharp * u * value, bend + value * (4 * sharp**2 * u**2 - 2 * sharp)
        return slope**2 / 4 - bend / 2

    exact = line_levels(effective, (-1.8, 0, 1.8), 5, pieces=60)
    return solved(schroedinger(lambda x: effective(x[0], jnp)), ex.Box(-1.8, 1.8), exact)


@problem(KIND, "wide-box-1d", 25)
def wide_box() -> Found:
    """A well that is a fiftieth of its box."""

    def potential(x, cosh=np.cosh):
        return -6 / cosh((x - 31) / 1.0) ** 2 - 4 / cosh((x + 20) / 1.5) ** 2

    exact = line_levels(potential, (-60, 0, 60), 4, pieces=90)
    return solved(schroedinger(lambda x: potential(x[0], jnp.cosh)), ex.Box(-60, 60), exact)

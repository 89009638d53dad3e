"""Curved surfaces, closed and with an edge."""

import jax.numpy as jnp
import numpy as np
from scipy.special import jn_zeros

import eigenax as ex
from honesty_problems.base import Found, problem, solved
from honesty_problems.references import Profile, line_levels, lowest_sums, zero

KIND = "surfaces"
SPHERE = np.repeat(np.arange(4.0) * np.arange(1, 5), 2 * np.arange(4) + 1)


def of_revolution(
    n: int, breaks: tuple[float, ...], radius: Profile, speed: Profile, potential: Profile = zero
) -> np.ndarray:
    """−Δ + V of a surface of revolution, by its radius and the speed of the curve that is turned, for each e^{imφ}."""
    values = []
    closed = radius(np.array(breaks[:1]))[0] > 1e-9
    for m in range(n):
        ends = ("periodic", "periodic") if closed else ("neumann", "neumann") if m == 0 else ("dirichlet", "dirichlet")

        def of_m(t: np.ndarray, m: int = m) -> np.ndarray:
            return m**2 / radius(t) ** 2 + potential(t) if m else potential(t)

        found = line_levels(
            of_m,
            breaks,
            n,
            ends=ends,
            conductivity=lambda t: radius(t) / speed(t),
            measure=lambda t: radius(t) * speed(t),
        )
        values += [found] * (1 if m == 0 else 2)
    return np.sort(np.concatenate(values))[:n]


def minus_laplacian(surface: ex.Surface) -> ex.Operator:
    return -ex.LaplaceBeltrami(surface.embedding)


@problem(KIND, "sphere", 40)
def sphere() -> Found:
    return solved(minus_laplacian(ex.sphere()), ex.sphere(), SPHERE[:9])


@problem(KIND, "sphere-in-a-field", 40)
def sphere_in_a_field() -> Found:
    """A rigid rotor in an electric field, −Δ + 5 cos θ."""
    exact = of_revolution(6, (0, np.pi), np.sin, np.ones_like, lambda t: 5 * np.cos(t))
    operator = minus_laplacian(ex.sphere()) + ex.Potential(lambda q: 5 * jnp.cos(q[0]))
    return solved(operator, ex.sphere(), exact)


@problem(KIND, "torus-surface", 40)
def torus() -> Found:
    exact = of_revolution(7, (0, 2 * np.pi), lambda t: 2 + 0.7 * np.cos(t), lambda t: 0.7 + 0 * t)
    surface = ex.torus(2.0, 0.7)
    return solved(minus_laplacian(surface), surface, exact)


@problem(KIND, "ellipsoid", 50)
def ellipsoid() -> Found:
    """A sphere that is pulled to twice its height."""
    exact = of_revolution(6, (0, np.pi), np.sin, lambda t: np.sqrt(np.cos(t) ** 2 + 4 * np.sin(t) ** 2))
    surface = ex.Surface(
        ex.Box((0, 0), (np.pi, 2 * np.pi)),
        lambda q: jnp.stack([jnp.sin(q[0]) * jnp.cos(q[1]), jnp.sin(q[0]) * jnp.sin(q[1]), 2 * jnp.cos(q[0])]),
    )
    return solved(minus_laplacian(surface), surface, exact)


@problem(KIND, "disc", 40, may_refuse=True)
def disc() -> Found:
    """Zero at its edge, as its box of parameters says: it is right or refused."""
    exact = np.sort([jn_zeros(0, 2)[0], jn_zeros(1, 1)[0], jn_zeros(1, 1)[0]]) ** 2
    surface = ex.Surface(
        ex.Box((0, 0), (1, 2 * np.pi), boundary=("dirichlet", "periodic")),
        lambda q: q[0] * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1])]),
    )
    return solved(minus_laplacian(surface), surface, exact)


@problem(KIND, "annulus", 40, may_refuse=True)
def annulus() -> Found:
    """Between radii 1 and 2, zero at both."""
    found = [
        line_levels(lambda r, m=m: m**2 / r**2, (1, 2), 3, conductivity=lambda r: r, measure=lambda r: r)
        for m in (0, 1, 1)
    ]
    surface = ex.Surface(
        ex.Box((1, 0), (2, 2 * np.pi), boundary=("dirichlet", "periodic")),
        lambda q: q[0] * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1])]),
    )
    return solved(minus_laplacian(surface), surface, np.sort(np.concatenate(found))[:3])


@problem(KIND, "flat-torus-surface", 40)
def flat_torus() -> Found:
    """Two circles of radius 1 and 1.4 in four dimensions."""
    k = np.abs(np.arange(-4, 5)[np.argsort(np.abs(np.arange(-4, 5)))])
    surface = ex.Surface(
        ex.Box((0, 0), (2 * np.pi, 2 * np.pi), boundary="periodic"),
        lambda q: jnp.concatenate(
            [jnp.stack([jnp.cos(q[0]), jnp.sin(q[0])]), 1.4 * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1])])]
        ),
    )
    return solved(minus_laplacian(surface), surface, lowest_sums(7, k**2.0, k**2 / 1.96))

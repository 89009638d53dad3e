"""Singular potentials, declared and not."""

import jax.numpy as jnp
import numpy as np

import eigenax as ex
from honesty_problems.base import Found, add, problem, schroedinger, solved

KIND = "singularities"


def hydrogen(dims: int, declared: bool, n: int) -> Found:
    """−∇² − 1/r: −1/(2k + 1)² in a plane, −1/(4 (k + 1)²) in space."""
    levels = [
        (-1 / (2 * k + 1) ** 2, 2 * k + 1) if dims == 2 else (-0.25 / (k + 1) ** 2, (k + 1) ** 2) for k in range(3)
    ]
    exact = np.concatenate([[value] * times for value, times in levels])[:n]
    points = [(0.0,) * dims] if declared else []
    operator = schroedinger(lambda x: -1 / jnp.linalg.norm(x), singularities=points)
    return solved(operator, ex.Box(-50, 50, dims=dims), exact)


for dims, declared, n, seconds in ((2, True, 4, 45), (2, False, 4, 45), (3, True, 5, 90), (3, False, 5, 90)):
    add(
        KIND,
        f"hydrogen-{dims}d{'' if declared else '-undeclared'}",
        seconds,
        lambda dims=dims, declared=declared, n=n: hydrogen(dims, declared, n),
    )


def molecule(nuclei: list[tuple[float, float, float]]) -> Found:
    """H₂⁺ at a distance of 2 Bohr radii, in Hartree: its two lowest states."""

    def potential(x):
        return -1 / jnp.linalg.norm(x - jnp.array([0.0, 0.0, 1.0])) - 1 / jnp.linalg.norm(
            x + jnp.array([0.0, 0.0, 1.0])
        )

    operator = schroedinger(potential, kinetic=0.5, singularities=nuclei)
    return solved(operator, ex.Box(-15, 15, dims=3), [-1.1026342144949, -0.6675343922024])


add(KIND, "hydrogen-molecule-ion", 90, lambda: molecule([(0, 0, -1), (0, 0, 1)]))
add(KIND, "hydrogen-molecule-ion-undeclared", 90, lambda: molecule([]))
add(KIND, "hydrogen-molecule-ion-one-declared", 90, lambda: molecule([(0, 0, 1)]))


@problem(KIND, "inverse-square-1d", 25)
def inverse_square() -> Found:
    """−u″ + (x² + 2/x²) u beside its singularity: 5, 9, 13, …"""
    return solved(schroedinger(lambda x: x[0] ** 2 + 2 / x[0] ** 2), ex.Box(0, 9), 4.0 * np.arange(5) + 5)


@problem(KIND, "coulomb-1d", 25)
def coulomb() -> Found:
    """−u″ − u/x on a half line: −1/(4 k²)."""
    return solved(schroedinger(lambda x: -1 / x[0]), ex.Box(0, 120), -0.25 / np.arange(1, 4) ** 2)

"""The two-dimensional hydrogen atom −∇² − 1/r in closed form."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import binom, factorial


def energies(n: int) -> Float[np.ndarray, " n"]:
    """The first n energies: −1/(2m+1)², each 2m+1 times.

    >>> energies(4)
    array([-1.        , -0.11111111, -0.11111111, -0.11111111])
    """
    return np.array([-1 / (2 * m + 1) ** 2 for m in range(_shell_count(n)) for _ in range(2 * m + 1)][:n])


def shells(x: Float[Array, " 2"], n: int) -> Float[Array, " states"]:
    """All functions of the shells that hold the first n states, shell m at places m² to (m+1)² − 1."""
    return jnp.concatenate([shell(x, m) for m in range(_shell_count(n))])


def _shell_count(n: int) -> int:
    return math.isqrt(n - 1) + 1


def shell(x: Float[Array, " 2"], m: int) -> Float[Array, " degeneracy"]:
    """The 2m+1 functions of shell m at one point, not normalised.

    With κ = 1/(2m+1) and ρ = 2κr they are e^{−ρ/2} ρ^l L_{m−l}^{(2l)}(ρ) times cos(lφ) or sin(lφ), l ≤ m; the
    angular part is written as a polynomial in x and y, so that derivatives exist off the origin.
    """
    kappa = 1 / (2 * m + 1)
    rho = 2 * kappa * jnp.sqrt(jnp.sum(x**2))
    functions = []
    real, imaginary = jnp.ones_like(rho), jnp.zeros_like(rho)
    for angular in range(m + 1):
        radial = jnp.exp(-rho / 2) * _laguerre(rho, m - angular, 2 * angular)
        functions += [radial * real] if angular == 0 else [radial * real, radial * imaginary]
        step_real, step_imaginary = 2 * kappa * x[0], 2 * kappa * x[1]
        real, imaginary = (
            real * step_real - imaginary * step_imaginary,
            real * step_imaginary + imaginary * step_real,
        )
    return jnp.stack(functions)


def _laguerre(rho: Float[Array, ""], degree: int, order: int) -> Float[Array, ""]:
    terms = ((-1) ** i * binom(degree + order, degree - i) / factorial(i) * rho**i for i in range(degree + 1))
    return sum(terms, start=jnp.zeros_like(rho))

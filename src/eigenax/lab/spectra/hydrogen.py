"""The hydrogen atom −∇² − Z/r: energies in two and three dimensions, functions in two."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import binom, factorial


def energies(n: int, dims: int = 2, charge: float = 1.0) -> Float[np.ndarray, " n"]:
    """The first n energies of −∇² − Z/r in two or three dimensions, without spin.

    They are −Z²/(2m+1)², each 2m+1 times, m ≥ 0, in two, and −Z²/(2m)², each m² times, m ≥ 1, in three.

    >>> energies(4)
    array([-1.        , -0.11111111, -0.11111111, -0.11111111])
    >>> energies(3, dims=3, charge=2)
    array([-1.  , -0.25, -0.25])
    """
    if dims not in (2, 3):
        raise ValueError(f"dims must be 2 or 3; got {dims}")
    if not 0 < charge < math.inf:
        raise ValueError(f"charge must be positive; got {charge}")
    m = np.arange(_shell_count(n))
    return np.repeat(-(charge**2) / (2 * m + dims - 1) ** 2, 2 * m + 1 if dims == 2 else (m + 1) ** 2)[:n]


def reach(n: int, dims: int = 2, charge: float = 1.0) -> float:
    """The radius beyond which the outermost of the first n states is negligible.

    With its decay length r₀, less than 1e-9 of its density r^2m e^(−2r/r₀) is left there.

    >>> reach(9)
    90.0
    """
    decay = round(charge / math.sqrt(-energies(n, dims, charge)[-1]))
    return decay * (15 + decay - dims) / charge


def shells(x: Float[Array, " 2"], n: int, charge: float = 1.0) -> Float[Array, " states"]:
    """All functions of the shells that hold the first n states; shell m has the indices m² to (m+1)² − 1."""
    return jnp.concatenate([shell(x, m, charge) for m in range(_shell_count(n))])


def _shell_count(n: int) -> int:
    return math.isqrt(n - 1) + 1


def shell(x: Float[Array, " 2"], m: int, charge: float = 1.0) -> Float[Array, " degeneracy"]:
    """The 2m+1 functions of shell m at one point, not normalised.

    With κ = Z/(2m+1) and ρ = 2κr they are e^{−ρ/2} ρ^l L_{m−l}^{(2l)}(ρ) times cos(lφ) or sin(lφ), l ≤ m; the
    angular part is written as a polynomial in x and y, so that derivatives exist off the origin.
    """
    kappa = charge / (2 * m + 1)
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

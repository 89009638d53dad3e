"""Integral operators, under a density, on a box and between the rows of an array."""

import jax.numpy as jnp
import numpy as np
from scipy.special import iv

import eigenax as ex
from honesty_problems.base import Found, add, problem, solved

KIND = "kernels"


def gaussian_mercer(dims: int, n: int) -> Found:
    """exp(−|x − y|²/2) under the normal distribution, in closed form."""
    a, b = 0.25, 0.5
    c = np.sqrt(a**2 + 2 * a * b)
    one = np.sqrt(2 * a / (a + b + c)) * (b / (a + b + c)) ** np.arange(n)
    products = one
    for _ in range(dims - 1):
        products = np.sort(np.outer(products, one).ravel())[::-1][: 4 * n]
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
    return solved(kernel, ex.Gaussian(0, 1, dims=dims), products[:n], which="largest")


add(KIND, "gaussian-kernel-1d", 30, lambda: gaussian_mercer(1, 5))
add(KIND, "gaussian-kernel-2d", 30, lambda: gaussian_mercer(2, 6))
add(KIND, "gaussian-kernel-5d", 40, lambda: gaussian_mercer(5, 6))


@problem(KIND, "kernel-between-rows", 30)
def between_rows() -> Found:
    rows = np.random.default_rng(1).normal(size=(1500, 3)) * [1, 2, 0.5]
    apart = ((rows[:, None] - rows) ** 2).sum(2)
    exact = np.linalg.eigvalsh(np.exp(-apart / 4) / len(rows))[::-1][:6]
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 4))
    return solved(kernel, ex.Arrays(rows), exact, which="largest")


@problem(KIND, "brownian-motion", 30)
def brownian() -> Found:
    """min(x, y) on [0, 1], which has a kink: 1/(π (k − ½))²."""
    exact = (np.pi * (np.arange(1, 6) - 0.5)) ** -2.0
    return solved(ex.Kernel(lambda x, y: jnp.minimum(x[0], y[0])), ex.Box(0, 1), exact, which="largest")


@problem(KIND, "circle-kernel", 30)
def circle() -> Found:
    """exp(2 cos(x − y)) on a circle: Bessel functions, in pairs."""
    exact = iv([0, 1, 1, 2, 2], 2.0)
    kernel = ex.Kernel(lambda x, y: jnp.exp(2 * jnp.cos(x[0] - y[0])))
    return solved(kernel, ex.Box(0, 2 * np.pi, boundary="periodic"), exact, which="largest")


@problem(KIND, "narrow-kernel-between-rows", 30)
def narrow() -> Found:
    """A kernel so narrow that values hardly fall."""
    rows = np.random.default_rng(2).random((1000, 2))
    apart = ((rows[:, None] - rows) ** 2).sum(2)
    exact = np.linalg.eigvalsh(np.exp(-apart / 0.002) / len(rows))[::-1][:5]
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 0.002))
    return solved(kernel, ex.Arrays(rows), exact, which="largest")

"""Eigenvalues of kernels without training, against closed forms and dense matrices: error and seconds over seeds.

    python benchmarks/kernels.py                  # all problems, seeds 0 to 2
    python benchmarks/kernels.py "rbf 2D" --seeds 1

Errors are the largest over the modes of |λ / exact − 1|. "claimed" is the largest standard error, relative in the same
way. Nyström is the dense matrix of 2048 independent points. The first line of all includes what the compiler takes.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

import eigenax as ex
from eigenax.lab.spectra.mercer import polynomial_spectrum, rbf_spectrum

LANDMARKS = 2048


class Problem(NamedTuple):
    operator: ex.Kernel
    source: Any
    exact: Float[np.ndarray, " n"]


def rbf(length: float) -> ex.Kernel:
    return ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / (2 * length**2)))


def normal(dims: int, length: float = 1.0) -> Problem:
    return Problem(rbf(length), ex.Gaussian(0.0, 1.0, dims=dims), rbf_spectrum(10, dims, length))


def polynomial(dims: int, degree: int, n: int) -> Problem:
    kernel = ex.Kernel(lambda x, y: (1 + jnp.sum(x * y)) ** degree)
    return Problem(kernel, ex.Gaussian(0.0, 1.0, dims=dims), polynomial_spectrum(n, degree, dims))


def rows(count: int, dims: int, length: float = 1.0) -> Problem:
    x = np.random.default_rng(0).normal(size=(count, dims)).astype(np.float32)
    wide = x.astype(np.float64)
    squares = (wide**2).sum(1)
    matrix = np.exp(-np.maximum(squares[:, None] + squares - 2 * wide @ wide.T, 0) / (2 * length**2)) / count
    began = time.perf_counter()
    exact = np.linalg.eigvalsh(matrix)[::-1][:10]
    print(f"{'numpy.linalg.eigvalsh of ' + str(count) + ' rows':28s} {time.perf_counter() - began:6.1f} s", flush=True)
    return Problem(rbf(length), ex.Arrays(x), exact)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "rbf 1D": lambda: normal(1),
    "rbf 2D": lambda: normal(2),
    "rbf 3D": lambda: normal(3),
    "rbf 1D, length 0.1": lambda: normal(1, 0.1),
    "(1 + xy)^3 1D": lambda: polynomial(1, 3, 4),
    "(1 + x·y)^3 2D": lambda: polynomial(2, 3, 10),
    "5000 rows 2D": lambda: rows(5000, 2),
}


def nystrom(problem: Problem, seed: int) -> Float[np.ndarray, " n"]:
    """Values of the dense matrix of independent points of a normal distribution."""
    x = np.random.default_rng(seed).normal(size=(LANDMARKS, problem.source.shape[0]))
    gram = np.asarray(problem.operator.gram(jnp.asarray(x)), np.float64) / LANDMARKS
    return np.linalg.eigvalsh(gram)[::-1][: len(problem.exact)]


def report(name: str, problem: Problem, seed: int) -> None:
    began = time.perf_counter()
    n = len(problem.exact)
    modes = ex.solve(problem.operator, problem.source, n, which="largest", seed=seed, progress=False)
    seconds = time.perf_counter() - began
    error = np.abs(modes.eigenvalues / problem.exact - 1).max()
    claimed = (modes.standard_errors / problem.exact).max()
    beside = (
        ""
        if isinstance(problem.source, ex.Arrays)
        else f"{np.abs(nystrom(problem, seed) / problem.exact - 1).max():9.1e}"
    )
    waves = len(modes.coefficients) - 1
    print(f"{name:20s} {seed:4d} {waves:6d} {error:9.1e} {claimed:9.1e} {beside:>9s} {seconds:6.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", nargs="?", choices=PROBLEMS)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print(f"{'problem':20s} seed  waves     error   claimed   Nyström seconds")
    for name, make in PROBLEMS.items():
        if given.problem in {None, name}:
            problem = make()
            for seed in range(given.seeds):
                report(name, problem, seed)


if __name__ == "__main__":
    main()

"""`solve` with nothing chosen, on problems whose spectrum is known: error and seconds over seeds.

    python benchmarks/accuracy.py                              # what two cores are for, seeds 0 to 9
    python benchmarks/accuracy.py "hydrogen 2D, 16" --seeds 3  # one of them, seeds 0 to 2

Errors are the mean over the modes of |λ / exact − 1|, eigenvalues of zero left out. Seconds are those of the whole
call; what the compiler took is given beside them.
"""

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from compiler import Compiler
from jaxtyping import Float

import eigenax as ex
from eigenax.lab.spectra.box import box_energies
from eigenax.lab.spectra.hydrogen import energies
from eigenax.lab.spectra.oscillator import oscillator_energies
from eigenax.lab.spectra.sphere import sphere_spectrum


class Problem(NamedTuple):
    operator: ex.Operator
    source: Any
    exact: Float[np.ndarray, " n"]


def hydrogen(n: int, half_width: float) -> Problem:
    coulomb = ex.Potential(lambda x: -1 / jnp.linalg.norm(x), singularities=[(0.0, 0.0)])
    return Problem(-ex.Laplacian() + coulomb, ex.Box(-half_width, half_width, dims=2), np.asarray(energies(n)))


def oscillator(n: int, stiffness: Sequence[float], half_width: float) -> Problem:
    operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(jnp.asarray(stiffness, x.dtype) * x**2))
    box = ex.Box(-half_width, half_width, dims=len(stiffness))
    return Problem(operator, box, np.asarray(oscillator_energies(n, tuple(stiffness))))


def box(n: int, dims: int) -> Problem:
    return Problem(-ex.Laplacian(), ex.Box(0, 1, dims=dims), np.asarray(box_energies(n, [1.0] * dims)))


def sphere(n: int) -> Problem:
    surface = ex.sphere()
    return Problem(-ex.LaplaceBeltrami(surface.embedding), surface, np.asarray(sphere_spectrum(n)))


ON_A_PROCESSOR = {
    "hydrogen 2D, 9": lambda: hydrogen(9, 80),
    "x² + 2.3 y², 9": lambda: oscillator(9, (1.0, 2.3), 6),
    "box 2D, 6": lambda: box(6, 2),
    "box 5D, 6": lambda: box(6, 5),
    "sphere, 16": lambda: sphere(16),
}
ON_A_GPU = {
    "hydrogen 2D, 16": lambda: hydrogen(16, 120),
    "oscillator 2D, 28": lambda: oscillator(28, (1.0, 1.0), 8),
    "box 5D, 6": lambda: box(6, 5),
    "oscillator 10D, 11": lambda: oscillator(11, (1.0,) * 10, 8),
}


class Run(NamedTuple):
    error: float
    worst: float
    """The largest error of a mode in units of its own standard error."""
    seconds: float
    compiling: float


def solve(problem: Problem, seed: int, compiler: Compiler) -> Run:
    compiling, began = compiler.seconds, time.perf_counter()
    modes = ex.solve(problem.operator, problem.source, n=len(problem.exact), seed=seed, progress=False)
    seconds = time.perf_counter() - began
    away, counts = np.abs(modes.eigenvalues - problem.exact), np.abs(problem.exact) > 1e-9
    return Run(
        float((away[counts] / np.abs(problem.exact[counts])).mean()),
        float((away / modes.standard_errors).max()),
        seconds,
        compiler.seconds - compiling,
    )


def main():
    device, compiler = jax.devices()[0], Compiler()
    problems = ON_A_PROCESSOR if device.platform == "cpu" else ON_A_GPU
    known = ON_A_PROCESSOR | ON_A_GPU
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=list(problems), metavar="PROBLEM", help=", ".join(known))
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    unknown = [name for name in options.problems if name not in known]
    if unknown:
        parser.error(f"no problem {unknown[0]!r}; there are: {'; '.join(known)}")
    print(f"{device.device_kind}, {os.cpu_count()} cores, jax {jax.__version__}, seeds 0 to {options.seeds - 1}")
    print(f"{'problem':20s}  median   worst seed   seconds   compiling   worst error / standard error", flush=True)
    for name in options.problems:
        runs = [solve(known[name](), seed, compiler) for seed in range(options.seeds)]
        error, worst, seconds, compiling = (np.array(column) for column in zip(*runs, strict=True))
        print(
            f"{name:20s}  {np.median(error):.1e}  {error.max():.1e}      {np.median(seconds):5.1f}     "
            f"{np.median(compiling):5.1f}       {worst.max():.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()

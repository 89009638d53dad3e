"""Error against seconds on one machine: trained networks, waves, and a sparse grid. Part of `make bench`.

    python benchmarks/error_against_seconds.py     # the table and picture in benchmarks/results/

−∇² + Σ k_i x_i² in two and in five dimensions. All networks that train are alike, a separate one for each mode as
`solve` takes it for the natural gradient, and see the same points in batches of the same size. Errors are the mean over
the modes of |λ / exact − 1|; seconds are those of choosing, training and measuring without compilation, and of building
and solving for the grid.
"""

import functools
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax
import scipy.sparse
import scipy.sparse.linalg
from compiler import Compiler
from jaxtyping import Float

import eigenax as ex
from eigenax.assemble import prepared
from eigenax.core.random_streams import Stream, stream
from eigenax.core.ritz import Finish
from eigenax.lab.spectra.oscillator import oscillator_energies
from eigenax.measurement.measure import measure

SEED, BATCH, HALF_WIDTH, MODES = 0, 256, 6.0, 6
RESULTS = Path(__file__).parent / "results"
STEPS = {"Jacobian average": (100, 400), "moments": (500, 2000, 8000), "natural gradient": (50, 150, 450)}
GRID = {2: (20, 40, 80, 160, 320), 5: (6, 8, 10, 12, 14)}
COLOURS = {"Jacobian average": "C3", "moments": "C1", "natural gradient": "C0", "waves": "C2", "sparse grid": "0.4"}


class Problem(NamedTuple):
    dims: int
    stiffness: Float[np.ndarray, " d"]
    operator: ex.Operator
    box: ex.Box
    exact: Float[np.ndarray, " n"]


class Point(NamedTuple):
    problem: str
    method: str
    finish: str
    effort: str
    seconds: float
    error: float


def problem(dims: int) -> Problem:
    stiffness = np.linspace(1, 2.3, dims)
    operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(jnp.asarray(stiffness, x.dtype) * x**2))
    box = ex.Box(-HALF_WIDTH, HALF_WIDTH, dims=dims)
    exact = np.asarray(oscillator_energies(MODES, tuple(stiffness.tolist())))
    return Problem(dims, stiffness, operator, box, exact)


def error(problem: Problem, values: Float[np.ndarray, " n"]) -> float:
    return float(np.abs(values / problem.exact - 1).mean())


def solver(method: str, steps: int) -> ex.GradientSolver:
    if method == "natural gradient":
        return ex.NaturalGradient(batch=BATCH)
    learning_rate = optax.exponential_decay(3e-3, steps, 1e-3)
    average = "jacobian" if method == "Jacobian average" else "moments"
    return ex.SpIN(optax.adam(learning_rate), average, ema_rate=ex.ema_schedule(learning_rate), batch=BATCH)


def trained(problem: Problem, method: str, steps: int) -> list[Point]:
    """One training, measured with and without Rayleigh–Ritz over its last hidden layer."""
    asked = ex.Problem.checked(problem.operator, problem.box, MODES, max_steps=steps, seed=SEED)
    choosing, (_, chosen) = timed(lambda: prepared(asked, ex.NaturalGradient()))
    training, network = timed(lambda: updated(chosen, solver(method, steps)))
    points = []

    def measured(finish: Finish) -> ex.Modes:
        return measure(network, problem.operator, chosen.source, n=MODES, finish=finish, seed=SEED)

    finishes: tuple[Finish, ...] = ("eigh", "ritz")
    for finish in finishes:
        seconds, modes = timed(functools.partial(measured, finish))
        label = "with Ritz" if finish == "ritz" else ""
        points.append(
            Point(
                named(problem),
                method,
                label,
                f"{steps} steps",
                choosing + training + seconds,
                error(problem, modes.eigenvalues),
            )
        )
    return points


def updated(problem: ex.Problem, solver: ex.GradientSolver) -> ex.Network:
    """The network after all steps: `solve` would end where residuals no longer fall."""
    key = stream(SEED, Stream.TRAINING)
    state = solver.init(problem, key)
    while int(state.step) < solver.total(problem, state):
        state, info = solver.step(problem, state, key)
        assert not info.failure, info.failure
    return state.solver.network


def waves(problem: Problem, bases: int) -> Point:
    seconds, modes = timed(
        lambda: ex.solve(problem.operator, problem.box, MODES, max_steps=bases, seed=SEED, progress=False)
    )
    return Point(named(problem), "waves", "", f"{bases} bases", seconds, error(problem, modes.eigenvalues))


def sparse_grid(problem: Problem, size: int) -> Point:
    """Second differences on size^d points, and ARPACK on their inverse (two dimensions) or on them as they are."""
    began = time.perf_counter()
    step = 2 * HALF_WIDTH / (size + 1)
    x = -HALF_WIDTH + step * np.arange(1, size + 1)
    second = scipy.sparse.diags([2.0, -1.0, -1.0], [0, 1, -1], shape=(size, size)) / step**2  # type: ignore[arg-type]
    matrix = scipy.sparse.csr_matrix((1, 1))
    for k in problem.stiffness:
        matrix = scipy.sparse.kronsum(second + scipy.sparse.diags(k * x**2), matrix, format="csr")
    find: Any = scipy.sparse.linalg.eigsh
    values = (
        find(matrix, MODES, sigma=0.0, return_eigenvectors=False)
        if problem.dims == 2
        else find(matrix, MODES, which="SA", return_eigenvectors=False)
    )
    seconds = time.perf_counter() - began
    return Point(named(problem), "sparse grid", "", f"{size}^{problem.dims}", seconds, error(problem, np.sort(values)))


def named(problem: Problem) -> str:
    return f"{problem.dims} dimensions"


COMPILER = Compiler()


def timed(call: Any) -> tuple[float, Any]:
    """Seconds without what the compiler took, and the result."""
    before, began = COMPILER.seconds, time.perf_counter()
    result = call()
    return time.perf_counter() - began - (COMPILER.seconds - before), result


def draw(points: list[Point], machine: str) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, constrained_layout=True)
    for panel, name in zip(panels, dict.fromkeys(point.problem for point in points), strict=True):
        for method, colour in COLOURS.items():
            for finish, style in (("", "o-"), ("with Ritz", "s--")):
                line = [p for p in points if (p.problem, p.method, p.finish) == (name, method, finish)]
                if line:
                    label = f"{method} {finish}".strip()
                    panel.loglog([p.seconds for p in line], [p.error for p in line], style, color=colour, label=label)
        panel.set(title=name, xlabel="seconds")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("mean relative error")
    panels[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.suptitle(f"six states of an anisotropic oscillator, {machine}", fontsize=10)
    figure.savefig(RESULTS / "error_against_seconds.png", dpi=110)


def main() -> None:
    device = jax.devices()[0]
    machine = f"{device.device_kind}, {os.cpu_count()} cores, jax {jax.__version__}, seed {SEED}"
    lines = [f"python benchmarks/error_against_seconds.py: {machine}", ""]
    lines.append(f"{'problem':14s} {'method':28s} {'effort':>12s} {'seconds':>9s} {'error':>9s}")
    print("\n".join(lines), flush=True)
    points = []
    for dims in (2, 5):
        here = problem(dims)
        jobs = [lambda size=size, here=here: [sparse_grid(here, size)] for size in GRID[dims]]
        jobs += [lambda r=r, here=here: [waves(here, r)] for r in (1, 2, 3)]
        jobs += [lambda m=m, s=s, here=here: trained(here, m, s) for m, each in STEPS.items() for s in each]
        for job in jobs:
            for point in job():
                points.append(point)
                method = f"{point.method} {point.finish}".strip()
                row = f"{point.problem:14s} {method:28s} {point.effort:>12s} {point.seconds:9.2f} {point.error:9.1e}"
                lines.append(row)
                print(row, flush=True)
    (RESULTS / "error_against_seconds.txt").write_text("\n".join(lines) + "\n")
    draw(points, machine)


if __name__ == "__main__":
    main()

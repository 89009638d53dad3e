"""SpIN beside the alternatives that the paper weighs, on two problems whose modes are known exactly.

    python benchmarks/alternatives.py                             # both problems, in float32
    JAX_ENABLE_X64=1 python benchmarks/alternatives.py matrix     # one of them, in float64

Every solver has the same networks, batches, learning rates and number of steps. Errors are |λ / exact − 1|, means over
the seeds, from moments with no sampling error, so that they are those of the functions that were learned.
"""

import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from rich.console import Console
from rich.table import Table

import eigenax as ex
from eigenax.core.precision import full_precision
from eigenax.core.ritz import combine
from eigenax.networks.boundary import BoxFactor
from eigenax.solvers.alternatives import AugmentedLagrangian, Sequential, Trace
from eigenax.solvers.default_parts import network_key

SEEDS, MODES = (0, 1, 2), 6
SHELLS = (slice(0, 1), slice(1, 3), slice(3, 6))
"""Both spectra have a single, a double and a triple eigenvalue."""
FUNCTIONS = """rotated functions, shell by shell: norm of what lies in other exact modes, and beyond all of them; mean
eigenvalue error when rotated by the averages of training; largest condition number of the seeds; eigenvalue error of
the first mode"""


class Problem(NamedTuple):
    name: str
    operator: ex.Operator
    """What training sees."""
    source: ex.Source
    network: Callable[[Array], Any]
    exact: Float[np.ndarray, " n"]
    functions: Float[np.ndarray, "p n"]
    """The exact modes at points that are a quadrature, orthonormal under their mean."""
    values: Callable[[Any], tuple[Array, Array]]
    """U and K u of a network at those points, K u free of sampling."""
    steps: int
    batch: int
    learning_rate: float
    cheap: bool


def oscillator() -> Problem:
    """−∇² + r² in the plane: 2, 4, 4, 6, 6, 6."""
    box = ex.Box(-6, 6, dims=2)
    operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
    axis = np.linspace(-6, 6, 97)[:-1] + 1 / 16
    points = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    batch = ex.Points(jnp.asarray(points, float), jnp.ones(len(points)))

    def network(key: Array) -> Any:
        inside = ex.EnsembleMLP(2, MODES, width=32, depth=2, activation="sin", key=key)
        scaled = ex.Compose(ex.ScaledInputs((0.0, 0.0), (2.0, 2.0)), inside)
        return ex.Multiply(BoxFactor(box.low, box.high), scaled)

    def values(network: Any) -> tuple[Array, Array]:
        u = jax.vmap(network)(batch.x)
        return u, operator.apply(network, batch, u)

    hermite = [np.polynomial.hermite.hermval(points, np.eye(3)[m]) for m in range(3)]
    orders = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    functions = np.stack([hermite[a][:, 0] * hermite[b][:, 1] for a, b in orders], 1)
    functions *= np.exp(-np.sum(points**2, 1, keepdims=True) / 2)
    functions /= np.sqrt(np.mean(functions**2, 0))
    exact = np.asarray([2.0 + 2 * (a + b) for a, b in orders])
    return Problem(
        "oscillator", operator, ex.Uniform(box), network, exact, functions, values, 4000, 256, 3e-3, cheap=False
    )


class Rows(ex.Network):
    """Functions on states, a row of parameters for each; points are one-hot vectors."""

    table: Float[Array, "k states"]

    def __call__(self, x: Float[Array, " states"]) -> Float[Array, " k"]:
        return self.table @ x

    @property
    def separate(self) -> bool:
        return True


def matrix() -> Problem:
    """A kernel on 32 states, seen in batches of 64: −8, −4, −4, −2, −2, −2, then −1 and rising."""
    states = 32
    spectrum = -np.concatenate([[8, 4, 4, 2, 2, 2], np.linspace(1, 0, states - MODES)])
    vectors, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(states, states)))
    kernel = jnp.asarray(states * vectors * spectrum @ vectors.T, float)

    def network(key: Array) -> Any:
        return Rows(jax.random.normal(key, (MODES, states)))

    def values(network: Any) -> tuple[Array, Array]:
        return network.table.T, kernel @ network.table.T / states

    sampled = ex.Kernel(lambda x, y: x @ kernel @ y)
    functions = math.sqrt(states) * vectors[:, :MODES]
    source = ex.Arrays(jnp.eye(states))
    return Problem("matrix", sampled, source, network, spectrum[:MODES], functions, values, 6000, 64, 3e-2, cheap=True)


def solvers(problem: Problem) -> dict[str, tuple[ex.GradientSolver, int]]:
    """Solvers and their numbers of steps. "plain" is the formula alone: no pull, no scale for each function."""

    def settings(steps: int) -> dict[str, Any]:
        falling = optax.exponential_decay(problem.learning_rate, steps, 1e-3)
        return {"optimizer": optax.adam(falling), "ema_rate": ex.ema_schedule(falling)}

    steps, plain = problem.steps, {"orthonormal_pull": 0.0, "rescale": False}
    falling = optax.exponential_decay(problem.learning_rate, steps, 1e-3)
    every = {
        "SpIN": (ex.SpIN(**settings(steps)), steps),
        "SpIN, plain": (ex.SpIN(**settings(steps), **plain), steps),
        "Trace": (Trace(**settings(steps)), steps),
        "Trace, plain": (Trace(**settings(steps), **plain), steps),
        "AugmentedLagrangian": (AugmentedLagrangian(**settings(steps), dual_rate=falling), steps),
        "Sequential": (Sequential(steps_per_mode=steps // MODES, **settings(steps // MODES)), steps),
    }
    if problem.cheap:
        every["Sequential, 6 × steps"] = (Sequential(steps_per_mode=steps, **settings(steps)), MODES * steps)
    return every


class Trained(NamedTuple):
    states: list[Any]
    """The last of each seed, or the last good one."""
    stopped: int
    """Seeds that diverged."""


def trained(problem: Problem, solver: ex.GradientSolver, steps: int) -> Trained:
    states = [solver.begin(problem.network(network_key(seed)), MODES) for seed in SEEDS]
    static = eqx.partition(states[0], eqx.is_array)[1]

    def step(carry: tuple[Any, Array, Array], index: Array) -> tuple[tuple[Any, Array, Array], None]:
        arrays, key, good = carry
        batch = problem.source.sample(jax.random.fold_in(key, index), problem.batch)
        state, info = solver.update(problem.operator, eqx.combine(arrays, static), batch)
        good &= info.healthy
        after = eqx.filter(state, eqx.is_array)
        return (jax.tree.map(lambda new, old: jnp.where(good, new, old), after, arrays), key, good), None

    run = jax.jit(lambda carry: jax.lax.scan(step, carry, jnp.arange(steps))[0])
    ends, goods = [], []
    with full_precision():
        for seed, state in zip(SEEDS, states, strict=True):
            carry = eqx.filter(state, eqx.is_array), jax.random.key(1000 + seed), jnp.asarray(True)
            arrays, _, good = jax.block_until_ready(run(carry))
            ends.append(eqx.combine(arrays, static))
            goods.append(bool(good))
    return Trained(ends, goods.count(False))


class Errors(NamedTuple):
    """Of one run, per mode or per shell."""

    rotated: Float[np.ndarray, " n"]
    ordered: Float[np.ndarray, " n"]
    by_averages: Float[np.ndarray, " n"]
    """Rotated by the averages of training instead of exact moments."""
    other: Float[np.ndarray, " shells"]
    beyond: Float[np.ndarray, " shells"]
    """Of a rotated function's norm, what lies in the other exact modes, and beyond all of them."""
    condition: float
    """Of Σ."""


def errors(problem: Problem, state: Any) -> Errors:
    u, ku = (np.asarray(part, np.float64) for part in eqx.filter_jit(problem.values)(state.network))
    sigma, pi = u.T @ u / len(u), u.T @ ku / len(u)
    rotated, ordered = combine(sigma, pi, "eigh"), combine(sigma, pi, "cholesky")
    turned = combine(state.sigma, state.pi, "eigh").coefficients
    by_averages = np.diag(turned.T @ pi @ turned) / np.diag(turned.T @ sigma @ turned)
    shares = ((u @ rotated.coefficients).T @ problem.functions / len(u)) ** 2
    total = shares.sum(1)
    return Errors(
        np.abs(rotated.values / problem.exact - 1),
        np.abs(ordered.values / problem.exact - 1),
        np.abs(by_averages / problem.exact - 1),
        np.asarray([np.sqrt((total - shares[:, shell].sum(1))[shell].mean()) for shell in SHELLS]),
        np.asarray([np.sqrt(np.maximum(1 - total[shell], 0).mean()) for shell in SHELLS]),
        float(np.linalg.cond(sigma)),
    )


def report(console: Console, problem: Problem) -> None:
    exact = [f"λ = {value:g}" for value in problem.exact]
    eigenvalues = Table("solver", "finish", *exact, "mean", "worst seed", box=None)
    shells = [f"{part} {i + 1}" for part in ("other", "beyond") for i in range(len(SHELLS))]
    functions = Table("solver", *shells, "by averages", "cond Σ", "diverged", "first mode, each seed", box=None)
    for name, (solver, steps) in solvers(problem).items():
        result = trained(problem, solver, steps)
        runs = [errors(problem, state) for state in result.states]
        for finish in ("rotated", "ordered"):
            each = np.stack([getattr(run, finish) for run in runs])
            cells = [f"{value:.1e}" for value in (*each.mean(0), each.mean(), each.mean(1).max())]
            eigenvalues.add_row(name if finish == "rotated" else "", finish, *cells)
        parts = np.concatenate([np.mean([getattr(run, part) for run in runs], 0) for part in ("other", "beyond")])
        rest = [np.mean([run.by_averages for run in runs]), max(run.condition for run in runs)]
        cells = [f"{value:.1e}" for value in (*parts, *rest)]
        first = " ".join(f"{run.rotated[0]:.1e}" for run in runs)
        functions.add_row(name, *cells, f"{result.stopped} of {len(SEEDS)}", first)
    console.print(
        f"\n{problem.name}: {problem.steps} steps, batch {problem.batch}, Adam {problem.learning_rate} to /1000"
    )
    console.print("\nrelative error of eigenvalues, mean over seeds", eigenvalues, sep="\n")
    console.print(f"\n{FUNCTIONS}", functions, sep="\n")


def main() -> None:
    console = Console(width=150, highlight=False)
    precision = jnp.zeros(()).dtype.name
    device = f"{os.cpu_count()} cores, {jax.devices()[0].device_kind}, jax {jax.__version__}, {precision}"
    names = sys.argv[1:] or ["matrix", "oscillator"]
    console.print(f"python benchmarks/alternatives.py {' '.join(names)}: {device}, seeds {SEEDS}")
    began = time.perf_counter()
    for name in names:
        report(console, {"matrix": matrix, "oscillator": oscillator}[name]())
    console.print(f"\n{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()

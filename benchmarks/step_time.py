"""Milliseconds and memory of a training step for both averages, as the number of modes grows. `make bench`.

Two-dimensional hydrogen, 3×64 softplus network, batches of 128, exact Laplacian: the setting in which the original
TensorFlow code takes 19.8 ms for 9 modes and 104 ms for 25 on two cores.
"""

import io
import os
import time
from pathlib import Path
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from rich.console import Console
from rich.table import Table

import eigenax as ex
from eigenax.networks.boundary import BoxFactor
from eigenax.solvers.default_parts import network_key

BATCH, REPEATS = 128, 5
STEPS = {"moments": 500, "jacobian": 40}
ORIGINAL = {9: 19.8, 25: 104.0}


class Cost(NamedTuple):
    milliseconds: float
    """The fastest of several timed scans, after compilation."""
    megabytes: float
    """What the compiled step works in beside its arguments and results, and the state that it keeps."""


def cost(average: Literal["moments", "jacobian"], n: int) -> Cost:
    box = ex.Box(-50, 50, dims=2)
    source = ex.Uniform(box)
    operator = -ex.Laplacian() + ex.Potential(lambda x: -1 / jnp.linalg.norm(x))
    network = ex.Multiply(BoxFactor(box.low, box.high), ex.MLP(2, n, width=64, depth=3, key=network_key(0)))
    solver = ex.SpIN(optax.rmsprop(1e-5, decay=0.999), average, ema_rate=0.01)
    arrays, static = eqx.partition(solver.begin(network, n), eqx.is_array)

    def step(arrays, key):
        state, info = solver.update(operator, eqx.combine(arrays, static), source.sample(key, BATCH))
        return eqx.filter(state, eqx.is_array), info.healthy

    keys = jax.random.split(jax.random.key(0), STEPS[average])
    scan = jax.jit(lambda arrays, keys: jax.lax.scan(step, arrays, keys)).lower(arrays, keys).compile()
    memory: Any = scan.memory_analysis()
    jax.block_until_ready(scan(arrays, keys))
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        _, healthy = jax.block_until_ready(scan(arrays, keys))
        times.append(time.perf_counter() - began)
        assert healthy.all()
    state = sum(leaf.nbytes for leaf in jax.tree.leaves(arrays))
    return Cost(1e3 * min(times) / STEPS[average], (memory.temp_size_in_bytes + state) / 1e6)


def main() -> None:
    """Print the table."""
    table = Table("modes", "moments", "against 9", "jacobian", "jacobian / moments", "original / moments", box=None)
    first = None
    for n in (9, 25, 36):
        moments, jacobian = cost("moments", n), cost("jacobian", n)
        first = first or moments
        cells = [f"{each.milliseconds:.2f} ms, {each.megabytes:.1f} MB" for each in (moments, jacobian)]
        against = f"{moments.milliseconds / first.milliseconds:.2f}, {moments.megabytes / first.megabytes:.2f}"
        ratio = f"{jacobian.milliseconds / moments.milliseconds:.0f}, {jacobian.megabytes / moments.megabytes:.0f}"
        original = f"{ORIGINAL[n] / moments.milliseconds:.0f}" if n in ORIGINAL else "–"
        table.add_row(str(n), cells[0], against, cells[1], ratio, original)
    text = io.StringIO()
    for console in (Console(), Console(file=text, width=120)):
        machine = f"{jax.devices()[0].device_kind}, {os.cpu_count()} cores, jax {jax.__version__}"
        console.print(f"python benchmarks/step_time.py: one training step, {machine}", highlight=False)
        console.print(table)
    (Path(__file__).parent / "results" / "step_time.txt").write_text(text.getvalue())


if __name__ == "__main__":
    main()

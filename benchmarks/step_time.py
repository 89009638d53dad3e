"""Milliseconds a training step for both averages, as the number of modes grows. `make bench`.

Two-dimensional hydrogen, 3×64 softplus network, batches of 128, exact Laplacian: the setting in which the original
TensorFlow code takes 19.8 ms for 9 modes and 104 ms for 25 on two cores.
"""

import time
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from rich.console import Console
from rich.table import Table

import eigenax as ex

BATCH, REPEATS = 128, 5
STEPS = {"moments": 500, "jacobian": 40}
ORIGINAL = {9: 19.8, 25: 104.0}


def milliseconds(average: Literal["moments", "jacobian"], n: int) -> float:
    """The fastest of several timed scans, after compilation."""
    box = ex.Box(-50, 50, dims=2)
    operator = -ex.Laplacian() + ex.Potential(lambda x: -1 / jnp.linalg.norm(x))
    network = ex.Bounded(ex.BoxFactor(box.low, box.high), ex.MLP(2, n, width=64, depth=3, key=ex.network_key(0)))
    solver = ex.SpIN(optax.rmsprop(1e-5, decay=0.999), average, rate=0.01)
    arrays, static = eqx.partition(solver.init(network, n), eqx.is_array)

    def step(arrays, key):
        state, info = solver.step(operator, eqx.combine(arrays, static), box.sample(key, BATCH))
        return eqx.filter(state, eqx.is_array), info.healthy

    scan = jax.jit(lambda arrays, keys: jax.lax.scan(step, arrays, keys))
    keys = jax.random.split(jax.random.key(0), STEPS[average])
    jax.block_until_ready(scan(arrays, keys))
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        _, healthy = jax.block_until_ready(scan(arrays, keys))
        times.append(time.perf_counter() - began)
        assert healthy.all()
    return 1e3 * min(times) / STEPS[average]


def main() -> None:
    """Print the table."""
    table = Table("modes", "moments", "jacobian", "jacobian / moments", "original code / moments", box=None)
    for n in (9, 25, 36):
        moments, jacobian = milliseconds("moments", n), milliseconds("jacobian", n)
        original = f"{ORIGINAL[n] / moments:.0f}" if n in ORIGINAL else "–"
        table.add_row(str(n), f"{moments:.2f} ms", f"{jacobian:.1f} ms", f"{jacobian / moments:.0f}", original)
    console = Console()
    console.print(f"one training step on {jax.devices()[0].device_kind}, jax {jax.__version__}", highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()

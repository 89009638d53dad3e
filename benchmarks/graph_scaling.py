"""Many modes of a large graph: the time of a step and the memory of training, and of doing without it.

    python benchmarks/graph_scaling.py                     # 64 and 128 modes, every way
    python benchmarks/graph_scaling.py moments 64 2000     # one of them, so many steps

The graph has 100 489 nodes, the cells of a room of 317 × 317, each seen as (x, y). `moments` and `natural` train a
network on walks along its edges with SpIN and with the natural gradient; `waves` are those of their features, whose
steps are bases, and `nodes` is what `solve` does unless told otherwise. Each line is a process of its own, its memory
the most it ever held. Errors are |λ / exact − 1|, mean and largest over all modes but the first, with exact values in
closed form.
"""

import math
import os
import resource
import subprocess
import sys
import time
from collections import deque
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

import eigenax as ex
from eigenax.lab.datasets.gridworlds import one_room
from eigenax.solvers.default_parts import network_key

SIDE = 317
WALKS = {"moments": 1024, "natural": 192}
STEPS = {"moments": 2000, "natural": 40, "waves": 3, "nodes": 1}
MODES = (64, 128)


def exact(n: int) -> Float[np.ndarray, " n"]:
    """Σ 2 − 2 cos(πk / side) over both axes."""
    line = 2 - 2 * np.cos(np.pi * np.arange(n) / SIDE)
    return np.sort((line[:, None] + line).ravel())[:n]


def settings(way: str, n: int, steps: int) -> dict[str, Any]:
    # As lively as n modes are along each axis.
    inputs = ex.ScaledInputs((SIDE / 2,) * 2, (SIDE / math.sqrt(12) / max(1.8, 0.5 * math.sqrt(n)),) * 2)
    shared: dict[str, Any] = {"max_steps": steps, "progress": False}
    measured: dict[str, Any] = {"batch": WALKS.get(way, 1), "samples": 2**16}
    if way == "moments":
        perceptron = ex.MLP(2, n - 1, width=256, depth=2, activation="sin", sparsity="none", key=network_key(0))
        return shared | {"solver": ex.SpIN(**measured), "network": ex.WithConstant(ex.Compose(inputs, perceptron))}
    if way == "natural":
        perceptrons = ex.EnsembleMLP(2, n, width=24, depth=2, activation="sin", key=network_key(0))
        return shared | {"solver": ex.NaturalGradient(**measured), "network": ex.Compose(inputs, perceptrons)}
    return shared | ({"solver": ex.RayleighRitz(n_basis=256)} if way == "waves" else {})


def one(way: str, n: int, steps: int) -> None:
    grid, seen = one_room(SIDE), deque(maxlen=1)  # states are large
    source = ex.Graph(grid.edges(), grid.cells.astype(float))
    began = time.perf_counter()
    chosen = settings(way, n, steps)
    modes = ex.solve(ex.GraphLaplacian(), source, n, **chosen, callbacks=[seen.append])
    elapsed, last = time.perf_counter() - began, seen[-1]
    errors = np.abs(modes.eigenvalues[1:] / exact(n)[1:] - 1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    step = last.seconds / last.step * 1e3
    print(
        f"{way:8s} {n:4d} modes  {last.step:5d} steps of {step:8.1f} ms  {elapsed:6.1f} s in all  {memory:5.2f} GiB  "
        f"error {errors.mean():.1e}, largest {errors.max():.1e}",
        flush=True,
    )


def main(words: list[str]) -> None:
    if words:
        one(words[0], int(words[1]), int(words[2]) if len(words) > 2 else STEPS[words[0]])
        return
    print(f"{SIDE**2} nodes, {os.cpu_count()} cores, {jax.default_backend()}, jax {jax.__version__}", flush=True)
    for way in STEPS:
        for n in MODES:
            subprocess.run([sys.executable, __file__, way, str(n)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])

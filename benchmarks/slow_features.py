"""Deep, linear, quadratic and hierarchical slow feature analysis of the same frames, on video that none has seen.

    pip install 'eigenax[benchmark]'
    python benchmarks/slow_features.py         # bouncing balls of 64×64, one GPU
    python benchmarks/slow_features.py quick   # 32×32, two cores

Hierarchical: HSFA of sklearn-sfa 0.1.6, the best of six networks of it, fitted to the first frames, on the next ones;
then fitted to all.
"""

import dataclasses
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from eigenax.lab.experiments.bouncing_balls import BouncingBalls
from eigenax.lab.scores.slowness import delta_values

# HSFA takes milliseconds a frame. Of so few frames, more steps than this learn them by heart.
FRAMES, STEPS = 100_000, 4000
TRIED, AT_ONCE = 30_000, 1000


class Hierarchy(NamedTuple):
    """One network of HSFA: successive frames that it sees, features of its last layer, and its layers before."""

    frames: int
    last: int
    layers: Sequence[tuple[int, ...]]


def candidates(size: int) -> list[Hierarchy]:
    """Fields of half, a quarter and an eighth of a frame, overlapping by half or not at all, expanded quadratically."""
    half, quarter, eighth = size // 2, size // 4, size // 8
    networks = [
        [(half, half, quarter, quarter, 32, 2)],
        [(quarter, quarter, eighth, eighth, 24, 2)],
        [(eighth, eighth, eighth, eighth, 16, 2), (2, 2, 2, 2, 32, 2)],
    ]
    return [Hierarchy(frames, 32, layers) for layers in networks for frames in (1, 2)]


def drawn(problem: BouncingBalls, positions: Float[np.ndarray, "time balls 2"]) -> Float[np.ndarray, "time h w"]:
    """All frames of a video, in memory, as sksfa wants them."""
    draw, starts = jax.jit(jax.vmap(problem.view)), range(0, len(positions), AT_ONCE)
    pieces = [np.asarray(draw(positions[start : start + AT_ONCE].astype(np.float32))) for start in starts]
    return np.concatenate(pieces)[:, 0]


def fitted(tried: Hierarchy, frames: Float[np.ndarray, "time h w"], seed: int) -> Any:
    np.__dict__["product"] = np.prod  # sklearn-sfa 0.1.6 is older than NumPy 2
    from sksfa import HSFA  # pyright: ignore[reportMissingImports]

    np.random.seed(seed)  # the noise that it adds
    rows = seen(frames, tried.frames)
    return HSFA(tried.last, rows.shape[1:], tried.layers, internal_batch_size=AT_ONCE).fit(rows)


def seen(frames: Float[np.ndarray, "time h w"], count: int) -> Float[np.ndarray, "rows h w count"]:
    """Successive frames as channels of one."""
    return np.stack([frames[k : len(frames) - count + 1 + k] for k in range(count)], -1)


def hierarchical(problem: BouncingBalls) -> Float[np.ndarray, " n"]:
    """Slowness of the best network's features on the other video."""
    frames, other = (drawn(problem, video.positions) for video in (problem.video, problem.held_out_video))
    networks = candidates(problem.size)
    cores = os.cpu_count() or 1
    os.environ["OPENBLAS_NUM_THREADS"] = str(max(1, cores // len(networks)))  # of the processes that try networks
    workers = max(1, min(cores // 2, len(networks)))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        scores = list(pool.map(partial(tried_out, frames=frames[:TRIED], n=problem.n, seed=problem.seed), networks))
    for network, score in zip(networks, scores, strict=True):
        print(f"  HSFA {network}: sum {score:.3f} on {TRIED - TRIED * 2 // 3} frames", flush=True)
    best = networks[int(np.argmin(scores))]
    features = fitted(best, frames, problem.seed).transform(seen(other, best.frames))
    return delta_values([features[:, : problem.n]])


def tried_out(network: Hierarchy, frames: Float[np.ndarray, "time h w"], n: int, seed: int) -> float:
    """The sum of its features' slowness on the last third of the frames, fitted to the others."""
    part = len(frames) * 2 // 3
    features = fitted(network, frames[:part], seed).transform(seen(frames[part:], network.frames))
    return float(delta_values([features[:, :n]]).sum())


def main(preset: str = "best") -> None:
    problem = BouncingBalls.with_preset(preset)
    if preset == "best":
        problem = dataclasses.replace(problem, frames=FRAMES, held_out=FRAMES, steps=STEPS)
    device = f"{jax.devices()[0].device_kind}, {os.cpu_count()} CPU cores, jax {jax.__version__}"
    print(f"python benchmarks/slow_features.py {preset}: {device}, seed {problem.seed}", flush=True)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        outcome = problem.run(Path(folder), progress=False)
    slowness = outcome.result["slowness"]
    print(f"  ours and the classical ways: {time.perf_counter() - began:.0f} s", flush=True)
    for name, values in slowness.items():
        show(name, values)
    began = time.perf_counter()
    slowness["HSFA"] = hierarchical(problem)
    print(f"  HSFA: {time.perf_counter() - began:.0f} s", flush=True)
    show("HSFA", slowness["HSFA"])
    picture(slowness, preset)


def show(name: str, values: Float[np.ndarray, " n"]) -> None:
    print(f"{name:26s}", " ".join(f"{value:.4f}" for value in values), f" sum {values.sum():.3f}", flush=True)


def picture(slowness: dict[str, Float[np.ndarray, " n"]], preset: str) -> None:
    from eigenax.lab.report.slow_features import draw_slowness

    figure, _ = draw_slowness(slowness)
    figure.savefig(Path(__file__).parent / "results" / f"slow_features_{preset}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The hidden slow drive of a chaotic series: found by `SlowFeatureAnalysis` with default settings, and by linear SFA.

    python benchmarks/driving_force.py

Rows are windows of successive values. |correlation| with the drive on the last quarter of the time, median and worst of
seeds 0 to 4, which change the noise and the random waves.
"""

import os
import time

import numpy as np
from jaxtyping import Float

from eigenax.estimators import SlowFeatureAnalysis
from eigenax.lab.baselines.linear_sfa import slow_directions
from eigenax.lab.datasets.logistic_map import driven_logistic_map

SEEDS = 5


def correlation(first: Float[np.ndarray, " time"], second: Float[np.ndarray, " time"]) -> float:
    return float(abs(np.corrcoef(first, second)[0, 1]))


def both(rows: int, noise: float, window: int, seed: int) -> tuple[float, float, float]:
    """|Correlation| of ours and of linear features, and the seconds of our fit."""
    series, drive = driven_logistic_map(rows, noise=noise, seed=seed)
    windows = np.lib.stride_tricks.sliding_window_view(series, window)
    middle, seen = drive[window // 2 :][: len(windows)], 3 * len(windows) // 4
    began = time.perf_counter()
    slow = SlowFeatureAnalysis(random_state=seed).fit(windows[:seen])
    seconds = time.perf_counter() - began
    ours = slow.transform(windows[seen:])[:, 0]
    linear = np.asarray(slow_directions(windows[:seen], 1)(windows[seen:]))[:, 0]
    return correlation(ours, middle[seen:]), correlation(linear, middle[seen:]), seconds


def main() -> None:
    print(f"python benchmarks/driving_force.py: {os.cpu_count()} CPU cores, seeds 0 to {SEEDS - 1}\n")
    print("rows  noise  window   median    worst   linear   seconds")
    for rows, noise, window in (
        (3000, 0.0, 3),
        (3000, 0.0, 10),
        (3000, 0.01, 5),
        (3000, 0.01, 10),
        (3000, 0.01, 20),
        (6000, 0.0, 3),
        (6000, 0.0, 10),
        (6000, 0.01, 5),
        (6000, 0.01, 10),
        (6000, 0.01, 20),
    ):
        ours, linear, seconds = np.array([both(rows, noise, window, seed) for seed in range(SEEDS)]).T
        shown = f"{np.median(ours):.4f}   {ours.min():.4f}   {np.median(linear):.3f}    {np.median(seconds):.1f}"
        print(f"{rows:4d}  {noise:5.2f}  {window:6d}   {shown}", flush=True)


if __name__ == "__main__":
    main()

"""Two moons of up to a million rows: embedded by a model of 20 000 of them, by Nyström's, and by scikit-learn's.

    python benchmarks/embeddings.py embeddings.png

Each number of rows and each way in a process of its own, whose seconds and peak memory are measured; rows are drawn in
chunks, which are embedded and dropped. Ours and Nyström's learn from the first half of the rows, at most `SEEN`, which
is part of the time; Nyström's has as many landmarks as fit into the bytes of our file. scikit-learn's cannot embed new
rows: it is fitted anew on all rows as long as that takes less than a minute. Errors are subspace distances to the
decomposition of the graph of all 10 000 rows, of which ours and Nyström's have seen half.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

COUNTS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
SEEN, CHUNK, NEIGHBOURS, CELLS = 20_000, 10_000, 10, 128
N = 5
"""The difference between the moons, and two functions of each: even numbers would cut a nearly equal pair."""
TOO_LONG, LIMIT = 60, 90
WAYS = ("eigenax", "Nyström", "scikit-learn")
COLOURS = ("#1b1f24", "#b65f3a", "#5c7fa8")


def chunks(count: int) -> Iterator[Float[np.ndarray, "_ 2"]]:
    """Rows of two moons; the first ones are the same however many there are."""
    from sklearn.datasets import make_moons

    for number in range(0, count, CHUNK):
        yield np.asarray(make_moons(min(CHUNK, count - number), noise=0.05, random_state=number)[0])


def rows_of(count: int) -> Float[np.ndarray, "N 2"]:
    return np.concatenate(list(chunks(count)))


def fitted(way: str, seen: Float[np.ndarray, "N 2"]) -> tuple[Any, int]:
    """What embeds rows, and the bytes of its model."""
    from eigenax.estimators.spectral import SpectralEmbedding
    from eigenax.lab.baselines.nystrom import Nystrom, landmarks_within

    if way == "Nyström":
        landmarks = landmarks_within(int(os.environ["MODEL_BYTES"]), seen, N, seed=0)
        there = Nystrom.of(landmarks, N, neighbours=NEIGHBOURS)
        return there, there.model_bytes
    ours = SpectralEmbedding(N, n_neighbors=NEIGHBOURS, cells=CELLS, random_state=0).fit(seen)
    with tempfile.TemporaryDirectory() as folder:
        ours.save(Path(folder) / "model")
        return ours.transform, (Path(folder) / "model").stat().st_size


def embedded_by_sklearn(rows: Float[np.ndarray, "N 2"]) -> Float[np.ndarray, "N n"]:
    from sklearn.manifold import SpectralEmbedding

    theirs = SpectralEmbedding(N, affinity="nearest_neighbors", n_neighbors=NEIGHBOURS, random_state=0)
    return theirs.fit_transform(rows)


def measured(way: str, count: int) -> dict[str, Any]:
    """One way and number of rows, in this process."""
    began, size = time.perf_counter(), 0
    if way == "scikit-learn":
        first = embedded_by_sklearn(rows_of(count))[: COUNTS[0]]
    else:
        embed, size = fitted(way, rows_of(count)[: count // 2] if count < 2 * SEEN else rows_of(SEEN))
        first = None
        for rows in chunks(count):
            values = embed(rows)
            assert values.shape == (len(rows), N)
            first = values if first is None else first
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"seconds": seconds, "megabytes": memory, "model_bytes": size}
    return found | ({"distance": distance(first)} if count == COUNTS[0] else {})


def distance(first: Any) -> float:
    """Of the embedding of the first rows to that which decomposing their graph gives; after measuring."""
    from eigenax.bases.softmax_cells import neighbour_graph
    from eigenax.lab.baselines.nystrom import Likeness, decomposed

    exact = decomposed(neighbour_graph(rows_of(COUNTS[0]), NEIGHBOURS), N)
    return Likeness.of(first, exact.vectors).subspace_distance


def in_a_process(way: str, count: int, size: int) -> dict[str, Any] | None:
    """The same in a process of its own; nothing where it takes too long."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", way, str(count)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, env=os.environ | {"MODEL_BYTES": str(size)}
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def draw(found: dict[str, dict[int, dict[str, Any]]], path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from eigenax.lab.report.style import INK, STYLE, new_figure, to_png

    with mpl.rc_context(STYLE):
        figure = new_figure(8.2, 3.4)
        for axis, name, title in zip(
            figure.subplots(1, 2), ("seconds", "megabytes"), ("seconds in all", "peak memory, MB"), strict=True
        ):
            for way, colour in zip(WAYS, COLOURS, strict=True):
                counts = list(found[way])
                values = [found[way][count][name] for count in counts]
                axis.plot(counts, values, "o-", color=colour, linewidth=2, markersize=5, label=way)
            axis.set(xscale="log", yscale="log", xlabel="rows")
            axis.set_title(title, loc="left", color=INK)
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
        figure.axes[0].legend(frameon=False)
    path.write_bytes(to_png(figure))


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("give the path of the picture: python benchmarks/embeddings.py embeddings.png")
    print(f"python benchmarks/embeddings.py: {os.cpu_count()} CPU cores, {N} components, {CELLS} cells\n")
    print("rows       way           seconds  peak MB  model bytes  subspace distance", flush=True)
    found: dict[str, dict[int, dict[str, Any]]] = {way: {} for way in WAYS}
    too_long = False
    for count in COUNTS:
        for way in WAYS:
            if way == WAYS[2] and too_long:
                continue
            size = found[WAYS[0]].get(count, {}).get("model_bytes", 0)
            told = in_a_process(way, count, size)
            if told is None or (way == WAYS[2] and told["seconds"] > TOO_LONG):
                too_long = True
            if told is None:
                print(f"{count:<9d}  {way:12s}  over {LIMIT} s", flush=True)
                continue
            found[way][count] = told
            error = f"{told['distance']:.2g}" if "distance" in told else ""
            numbers = f"{told['seconds']:7.1f}  {told['megabytes']:7.0f}  {told['model_bytes'] or '–':>11}"
            print(f"{count:<9d}  {way:12s}  {numbers}  {error}", flush=True)
    draw(found, Path(sys.argv[1]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measured(sys.argv[2], int(sys.argv[3]))))
    else:
        main()

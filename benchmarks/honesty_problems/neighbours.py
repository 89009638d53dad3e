"""Graphs of neighbouring rows, against SciPy's eigenvalues of the same graph."""

import numpy as np
from sklearn import datasets

from eigenax.bases.softmax_cells import neighbour_graph, rbf_graph
from eigenax.estimators import SpectralEmbedding
from honesty_problems.base import Found, add
from honesty_problems.references import graph_levels

KIND = "neighbour graphs"


def embedded(rows: np.ndarray, n: int, affinity: str = "nearest_neighbors", neighbours: int = 10) -> Found:
    rows = np.asarray(rows, float)
    made = rbf_graph(rows, 1 / rows.shape[1]) if affinity == "rbf" else neighbour_graph(rows, neighbours)
    exact = graph_levels(made, n + 1, by_degrees=True)[1:]
    smooth = SpectralEmbedding(n, affinity=affinity, n_neighbors=neighbours, random_state=0).fit(rows)
    return Found(smooth.eigenvalues_, smooth.modes_.standard_errors, smooth.modes_.unconverged, exact)


def blobs(rows: int) -> np.ndarray:
    return np.asarray(datasets.make_blobs(rows, 10, centers=8, cluster_std=3.0, random_state=0)[0])


def rings(rows: int) -> np.ndarray:
    return np.asarray(datasets.make_circles(rows, noise=0.06, factor=0.6, random_state=0)[0])


def moons() -> np.ndarray:
    return np.asarray(datasets.make_moons(2000, noise=0.1, random_state=0)[0])


add(KIND, "moons-2000", 40, lambda: embedded(moons(), 4))
add(KIND, "moons-2000-rbf", 60, lambda: embedded(moons(), 4, "rbf"))
add(KIND, "rings-5000", 60, lambda: embedded(rings(5000), 4))
add(KIND, "blobs-10000x10", 90, lambda: embedded(blobs(10_000), 5, neighbours=15))
add(KIND, "swiss-roll-3000", 50, lambda: embedded(datasets.make_swiss_roll(3000, random_state=0)[0], 4))
add(KIND, "digits-1797", 50, lambda: embedded(datasets.load_digits(return_X_y=True)[0] / 16, 6))

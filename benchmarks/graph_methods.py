"""Every way to a spectral embedding in one run: ours, exact decompositions, Nyström's extension and SpectralNet.

    python benchmarks/graph_methods.py             # needs eigenax[benchmark]; without spectralnet, its line is left out

Handwritten digits and two moons, each joined with its 10 nearest neighbours. Ways that embed new rows learn from four
fifths of the rows; the others decompose the graph of all. Distances are of subspaces, from 0 to 1, at the fifth held
out, to the dense decomposition of the graph of all rows. SpectralNet weighs edges in its own way: it is compared with
the decomposition of its own graph of all rows. "labels" is the share of held-out rows whose five nearest rows in the
embedding, among those learned from, tell what they show. Then the first modes of a grid world with walls, each cell
seen as (x, y) by us, and by the others only as a number; mean |cosine| is with the dense eigenvectors.
"""

import contextlib
import io
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse
from jaxtyping import Float
from sklearn.datasets import load_digits, make_moons
from sklearn.manifold import SpectralEmbedding as TheirEmbedding
from sklearn.neighbors import KNeighborsClassifier

import eigenax as ex
from eigenax.bases.softmax_cells import neighbour_graph
from eigenax.estimators.spectral import SpectralEmbedding
from eigenax.lab.baselines.graph import ExactModes, Graph, Method, exact_modes, graph_of, graph_of_edges
from eigenax.lab.baselines.nystrom import Likeness, Nystrom, landmarks_within
from eigenax.lab.datasets.gridworlds import rooms
from eigenax.lab.experiments.digits import split
from eigenax.lab.scores.cosines import matched

NEIGHBOURS, SEED = 10, 0
EPOCHS, PATIENCE = 500, 100
"""Of SpectralNet, whose defaults are for many batches an epoch; here the graph of all rows learned from is one."""


class Problem:
    """Rows, what they show, which of them are learned from, and the graph of all."""

    def __init__(self, name: str, rows: Float[np.ndarray, "N d"], labels: np.ndarray, n: int, cells: int) -> None:
        self.name, self.rows, self.labels, self.n, self.cells = name, np.asarray(rows), labels, n, cells
        self.seen, self.new = split(len(rows), SEED)
        self.graph = graph_of(neighbour_graph(self.rows, NEIGHBOURS), "degrees")
        self.exact = exact_modes(self.graph, n + 1, "dense").vectors[:, 1 : n + 1]


class Embedded(NamedTuple):
    """Values at all rows, and the bytes of a model that embeds new ones."""

    values: Float[np.ndarray, "N n"]
    model_bytes: int | None = None
    exact: Float[np.ndarray, "N n"] | None = None
    """What to compare with, where it is not the decomposition of the problem's graph."""


def by_decomposing(method: Method) -> Callable[[Problem, int], Embedded]:
    def embed(problem: Problem, _: int) -> Embedded:
        return Embedded(exact_modes(problem.graph, problem.n + 1, method).vectors[:, 1 : problem.n + 1])

    return embed


def by_sklearn(problem: Problem, _: int) -> Embedded:
    edges = scipy.sparse.csr_matrix(neighbour_graph(problem.rows, NEIGHBOURS))  # indices of 32 bits, as theirs need
    theirs = TheirEmbedding(problem.n, affinity="precomputed", random_state=SEED)
    return Embedded(theirs.fit_transform(edges))


def by_eigenax(problem: Problem, _: int) -> Embedded:
    ours = SpectralEmbedding(problem.n, n_neighbors=NEIGHBOURS, cells=problem.cells, random_state=SEED)
    ours.fit(problem.rows[problem.seen])
    with tempfile.TemporaryDirectory() as folder:
        ours.save(Path(folder) / "model")
        return Embedded(ours.transform(problem.rows), (Path(folder) / "model").stat().st_size)


def by_nystrom(problem: Problem, size: int) -> Embedded:
    landmarks = landmarks_within(size, problem.rows[problem.seen], problem.n, SEED)
    there = Nystrom.of(landmarks, problem.n, neighbours=NEIGHBOURS)
    return Embedded(there(problem.rows), there.model_bytes)


def by_nystrom_of_all(problem: Problem, _: int) -> Embedded:
    return by_nystrom(problem, 2**62)


def by_spectralnet(problem: Problem, _: int) -> Embedded:
    import torch  # pyright: ignore[reportMissingImports]
    from spectralnet import SpectralNet  # pyright: ignore[reportMissingImports]

    torch.manual_seed(SEED)
    rows = torch.tensor(problem.rows, dtype=torch.float32)
    theirs = SpectralNet(
        problem.n + 1, spectral_hiddens=[1024, 1024, 512, problem.n + 1], spectral_batch_size=len(rows),
        spectral_n_nbg=NEIGHBOURS, spectral_epochs=EPOCHS, spectral_patience=PATIENCE,
    )  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        theirs.fit(rows[torch.tensor(problem.seen)])
        theirs.predict(rows)
    values = theirs.embeddings_ - theirs.embeddings_[problem.seen].mean(0)
    # They span the constant too, in no order: what is left without it, by its largest n directions.
    values = values @ np.linalg.svd(values[problem.seen], full_matrices=False)[2][: problem.n].T
    size = sum(weight.nbytes for weight in theirs.spec_net.state_dict().values())
    edges = scipy.sparse.csr_array(theirs.spectral_trainer._get_affinity_matrix(rows).double().numpy())
    edges.setdiag(0)
    laplacian = scipy.sparse.diags_array(edges.sum(1)) - edges
    own = exact_modes(Graph(scipy.sparse.csr_array(laplacian), np.ones(len(rows))), problem.n + 1, "dense")
    return Embedded(values, size, own.vectors[:, 1 : problem.n + 1])


WAYS: dict[str, Callable[[Problem, int], Embedded]] = {
    "eigenax": by_eigenax,
    "Nyström, same bytes": by_nystrom,
    "Nyström, all rows seen": by_nystrom_of_all,
    "SpectralNet": by_spectralnet,
    "scikit-learn": by_sklearn,
    "SciPy eigsh": by_decomposing("eigsh"),
    "SciPy lobpcg": by_decomposing("lobpcg"),
    "dense": by_decomposing("dense"),
}


def told(problem: Problem, way: str, found: Embedded, seconds: float) -> str:
    seen, new = problem.seen, problem.new
    exact = problem.exact if found.exact is None else found.exact
    distance = max(0.0, Likeness.of(found.values[new], exact[new]).subspace_distance)
    classifier = KNeighborsClassifier(5).fit(found.values[seen], problem.labels[seen])
    labels = classifier.score(found.values[new], problem.labels[new])
    size = f"{found.model_bytes:,}" if found.model_bytes else "needs all rows"
    return f"{way:23s} {seconds:8.2f} s  {distance:9.2g}  {labels:6.3f}  {size:>14s}"


def problems() -> list[Problem]:
    digits = [np.asarray(part) for part in load_digits(return_X_y=True)]
    moons = [np.asarray(part) for part in make_moons(2000, noise=0.05, random_state=SEED)]
    return [
        Problem("digits", digits[0] / 16, digits[1], n=10, cells=256),
        Problem("two moons", *moons, n=5, cells=128),
    ]


def compare_on_grid(n: int = 11) -> None:
    grid = rooms(5, 11, SEED)
    graph = graph_of_edges(grid.edges(), len(grid.cells))
    exact = exact_modes(graph, n, "dense")
    methods: dict[str, Method] = {"SciPy eigsh": "eigsh", "SciPy lobpcg": "lobpcg", "dense": "dense"}

    def ours() -> ExactModes:
        modes = ex.solve(ex.GraphLaplacian(), ex.Graph(grid.edges(), grid.cells.astype(float)), n, progress=False)
        return ExactModes(modes.eigenvalues, np.asarray(modes(grid.cells.astype(float)), np.float64))

    ways = {"eigenax": ours} | {way: partial(exact_modes, graph, n, method) for way, method in methods.items()}
    print(
        f"\nrooms of {len(grid.cells)} cells, {n} modes\n{'':23s} {'seconds':>10s}  {'|cosine|':>9s}  {'λ error':>8s}"
    )
    for way, find in ways.items():
        began = time.perf_counter()
        found = find()
        seconds = time.perf_counter() - began
        cosine = matched(found.vectors[:, :n], exact.vectors, exact.values, graph.counts).cosines.mean()
        error = np.abs(found.values[1:n] / exact.values[1:n] - 1).max()
        print(f"{way:23s} {seconds:8.2f} s  {cosine:9.7f}  {error:8.0e}", flush=True)


def main() -> None:
    print(f"python benchmarks/graph_methods.py: {os.cpu_count()} CPU cores, seed {SEED}")
    for problem in problems():
        print(f"\n{problem.name}, {len(problem.rows)} rows, {problem.n} functions")
        print(f"{'':23s} {'seconds':>10s}  {'distance':>9s}  {'labels':>6s}  {'model, bytes':>14s}", flush=True)
        size = 0
        for way, embed in WAYS.items():
            began = time.perf_counter()
            try:
                found = embed(problem, size)
            except ModuleNotFoundError as error:
                print(f"{way:23s} left out: {error}", flush=True)
                continue
            size = size or found.model_bytes or 0
            print(told(problem, way, found, time.perf_counter() - began), flush=True)
    compare_on_grid()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

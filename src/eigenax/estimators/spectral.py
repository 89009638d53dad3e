"""Spectral embedding with the interface of scikit-learn, which also embeds rows never seen."""

import numbers
import warnings
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenax.assemble import solve
from eigenax.bases.softmax_cells import Adjacency, SoftmaxCells, neighbour_graph, rbf_graph
from eigenax.checks import check_choice, positive_int
from eigenax.errors import SingularMomentsError
from eigenax.estimators.edges import symmetric_graph
from eigenax.estimators.serializable import SerializableEstimator
from eigenax.modes import Modes
from eigenax.operators.graph import GraphLaplacian
from eigenax.over_time import features_of
from eigenax.solvers.rayleigh_ritz import RayleighRitz
from eigenax.sources.graph import Graph

TUNING_ROWS = 3000
"""The most rows on whose graph the sharpness of cells is chosen."""
MEMORY_ROWS = 2**14
"""How many rows of earlier and present chunks `partial_fit` keeps."""
MAX_RBF_ROWS = 2**14
"""The most rows for which `affinity="rbf"` computes a weight for every pair."""
AFFINITIES = ("nearest_neighbors", "rbf", "precomputed")

Estimator = TypeVar("Estimator", bound="SpectralEmbedding")


class Eigengap(NamedTuple):
    """The largest gap between successive eigenvalues; it suggests `after` + 1 clusters.

    The first gap is that from 0, the eigenvalue of the constant, to the first of `eigenvalues_`.
    """

    after: int
    """How many of `eigenvalues_` are below the gap."""
    size: float
    """The width of the gap."""


class SpectralEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SerializableEstimator):
    """The smoothest functions on a graph of rows: (D − A) v = λ D v, smallest λ first, without the constant.

    They are learned as functions of the features. So `transform` also takes rows never seen, at the same cost per row.
    `affinity` says what the matrix A of the graph's edges is:

    - `"nearest_neighbors"`: each row is joined with its `n_neighbors` nearest rows, with half the weight if only one of
      the two is among the nearest of the other. Fewer neighbours follow finer shapes; more keep the graph connected.
    - `"rbf"`: all rows are joined, with weights exp(−gamma |x − y|²). gamma=None is one over the number of features.
    - `"precomputed"`: you give the matrix, `fit(X, edges=A)`. It must be symmetric, and may be sparse or dense.

    Self-loops are ignored. `eigenvalues_` are those of the graph, or of the functions if the graph has too many edges.
    Each function is the linear combination of a row's shares in `cells` cells that comes closest to an eigenvector of
    the graph. More cells are more accurate, but slower, and make a larger file. Each function has mean zero and
    variance one, with rows weighted by their degrees.

    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(600, noise=0.05, random_state=0)
    >>> embedding = SpectralEmbedding(1, n_neighbors=20, random_state=0).fit(X[:400])
    >>> bool(abs(np.corrcoef(embedding.transform(X[400:])[:, 0], moon[400:])[0, 1]) > 0.9)
    True
    """

    n_features_in_: int
    _format: ClassVar[str] = "eigenax-spectral-embedding-3"
    _description: ClassVar[str] = "a spectral embedding"

    def __init__(
        self,
        n_components: Any = 2,
        *,
        affinity: Any = "nearest_neighbors",
        n_neighbors: Any = 10,
        gamma: Any = None,
        cells: Any = 256,
        random_state: Any = None,
        verbose: Any = False,
    ):
        self.n_components = n_components
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.cells = cells
        self.random_state = random_state
        self.verbose = verbose

    def fit(self: Estimator, X: Any, y: Any = None, *, edges: Any = None) -> Estimator:
        """Learn from rows (N, d); `edges`, (N, N), is only for `affinity="precomputed"`."""
        if self.affinity == "precomputed" and edges is None:
            raise ValueError("affinity='precomputed' needs the graph too: fit(X, edges=A), A of shape (rows, rows)")
        rows = self._validated(X, reset=True, least=2)
        self._memory, self._n_seen = rows[:0], 0
        self._fit_modes(rows, edges)
        self._remember(rows)
        return self

    def partial_fit(self: Estimator, X: Any, y: Any = None) -> Estimator:
        """Continue learning with one more chunk: from its rows and all earlier ones, or a random sample of them."""
        if self.affinity == "precomputed":
            raise ValueError(
                "partial_fit makes a graph of old and new rows together, so affinity must be 'nearest_neighbors' or "
                "'rbf'; got 'precomputed': fit all rows at once"
            )
        first = not hasattr(self, "modes_")
        rows = self._validated(X, reset=first, least=2 if first else 1)
        if first:
            self._memory, self._n_seen = rows[:0], 0
        before = self._memory, self._n_seen
        self._remember(rows)
        try:
            self._fit_modes(self._memory, None)
        except Exception:
            self._memory, self._n_seen = before
            raise
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Float[np.ndarray, "N n"]:
        """Learn from rows and return their embedding; `edges` as for `fit`."""
        return self.fit(X, y, **fit_params).embedding_

    def transform(self, X: Any) -> Float[np.ndarray, "N n"]:
        """The functions at each row."""
        check_is_fitted(self)
        return self._evaluated(self._validated(X, reset=False, least=1))

    def _evaluated(self, rows: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N n"]:
        return features_of(self.modes_, rows, progress=self.verbose).astype(rows.dtype)

    def _fit_modes(self, rows: Float[np.ndarray, "N d"], edges: Any) -> None:
        """Learn `modes_`, all functions but the constant, and set the attributes that follow from them."""
        n, cells = positive_int("n_components", self.n_components), positive_int("cells", self.cells)
        check_choice("affinity", self.affinity, AFFINITIES)
        if n >= len(rows):
            raise ValueError(f"n_components must be less than the number of rows, {len(rows)}; got {n}")
        if n >= cells:
            raise ValueError(f"cells must be more than n_components = {n}, better ten times as many; got {cells}")
        if (rows == rows[0]).all():
            raise ValueError("every row of X is the same: no function can tell them apart")
        seed = int(check_random_state(self.random_state).randint(2**31))
        features = rows.astype(np.float64)
        affinities, tuned_on = self._affinities(rows, edges), None
        with warnings.catch_warnings():
            # This estimator has warned of a disconnected graph already, in its own words.
            warnings.filterwarnings("ignore", "the graph has")
            graph = Graph(affinities, features, measure="degrees")
            if self.affinity != "precomputed" and len(rows) > TUNING_ROWS:
                some = features[np.random.default_rng(seed).permutation(len(rows))[:TUNING_ROWS]]
                tuned_on = Graph(self._graph_of(some), some, measure="degrees")
        try:
            modes = solve(
                GraphLaplacian(),
                graph,
                n + 1,
                solver=RayleighRitz(SoftmaxCells(cells, tuned_on)),
                seed=seed,
                progress=self.verbose,
            )
        except SingularMomentsError as error:
            raise ValueError(f"n_components = {n} is too many: {error}") from error
        self.modes_: Modes = modes[1:]
        self._set_results()
        self.embedding_ = self._evaluated(rows)

    def _set_results(self) -> None:
        self.eigenvalues_ = self.modes_.eigenvalues
        gaps = np.diff(self.eigenvalues_, prepend=0)
        self.eigengap_ = Eigengap(int(gaps.argmax()), float(gaps.max()))
        self._n_features_out = self.modes_.n

    def _affinities(self, rows: Float[np.ndarray, "N d"], edges: Any) -> Adjacency:
        """The symmetric matrix of the graph, without self-loops; an error if a row has no edge."""
        if self.affinity == "precomputed":
            graph = symmetric_graph(edges, len(rows))
        elif edges is not None:
            raise ValueError(f"edges go with affinity='precomputed' alone; got affinity={self.affinity!r}")
        else:
            graph = self._graph_of(rows.astype(np.float64))
        alone = np.flatnonzero(graph.sum(1) <= 0)
        if len(alone):
            raise ValueError(
                f"every row must have an edge to another; {len(alone)} have none, the first is row {alone[0]}: leave "
                "them out, or " + ("take a smaller gamma" if self.affinity == "rbf" else "give them one")
            )
        parts = connected_components(graph, directed=False, return_labels=False)
        if parts > 1:
            more = "" if self.affinity == "precomputed" else "; more n_neighbors, or a smaller gamma, may join them"
            warnings.warn(
                f"the graph falls into {parts} parts without an edge between them: the first {parts - 1} functions "
                f"only tell these parts apart{more}",
                stacklevel=4,
            )
        return graph

    def _graph_of(self, rows: Float[np.ndarray, "N d"]) -> Adjacency:
        """The graph of nearest neighbours, or of all pairs, between rows."""
        if self.affinity == "nearest_neighbors":
            others = len(rows) - 1
            if positive_int("n_neighbors", self.n_neighbors) > others:
                warnings.warn(
                    f"n_neighbors = {self.n_neighbors} is more than the {others} other rows there are: each row is "
                    "joined with all others",
                    stacklevel=5,
                )
            return neighbour_graph(rows, self.n_neighbors)
        if len(rows) > MAX_RBF_ROWS:
            raise ValueError(
                f"affinity='rbf' has a weight for each pair of rows, so it takes at most {MAX_RBF_ROWS}; got "
                f"{len(rows)}: take affinity='nearest_neighbors'"
            )
        gamma = 1 / rows.shape[1] if self.gamma is None else self.gamma
        if not (isinstance(gamma, numbers.Real) and 0 < float(gamma) < np.inf):
            raise ValueError(
                f"gamma must be a positive number, or None for one over the number of features; got {gamma!r}"
            )
        return rbf_graph(rows, float(gamma))

    def _validated(self, X: Any, reset: bool, least: int) -> Float[np.ndarray, "N d"]:
        # scikit-learn annotates its function with the types of the default values only.
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=least)  # pyright: ignore

    def _remember(self, rows: Float[np.ndarray, "N d"]) -> None:
        """Keep a random sample of the rows of all chunks, each with the same chance, of at most `MEMORY_ROWS` rows."""
        room = max(0, MEMORY_ROWS - len(self._memory))
        kept, late = np.concatenate([self._memory, rows[:room]]), rows[room:]
        if len(late):
            counts = self._n_seen + len(rows) - len(late) + 1 + np.arange(len(late))
            places = np.random.default_rng(self._n_seen).integers(counts)
            kept[places[places < MEMORY_ROWS]] = late[places < MEMORY_ROWS]
        self._memory, self._n_seen = kept, self._n_seen + len(rows)

    def _clear_memory(self) -> None:
        self._memory, self._n_seen = np.zeros((0, self.n_features_in_)), 0

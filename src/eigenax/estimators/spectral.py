"""Spectral embedding with the interface of scikit-learn, at rows never seen too."""

import numbers
import warnings
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import scipy.sparse
from jaxtyping import Float
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenax.assemble import solve
from eigenax.bases.softmax_cells import Adjacency, SoftmaxCells, neighbour_graph, rbf_graph
from eigenax.checks import check_choice, positive_int
from eigenax.errors import SingularMomentsError
from eigenax.estimators.serializable import SerializableEstimator
from eigenax.modes import Modes
from eigenax.operators.graph import GraphLaplacian
from eigenax.over_time import features_of
from eigenax.solvers.rayleigh_ritz import RayleighRitz
from eigenax.sources.graph import Graph

LOOKED_AT, REMEMBERED = 3000, 2**14
"""Rows on whose graph the shape of cells is chosen, and rows of earlier chunks that `partial_fit` keeps."""
DENSE = 2**14
"""Rows up to which all pairs of them have a number."""
AFFINITIES = ("nearest_neighbors", "rbf", "precomputed")

Me = TypeVar("Me", bound="SpectralEmbedding")


class Eigengap(NamedTuple):
    """The largest step from one eigenvalue to the next, the constant's 0 before them: clusters are one more than
    `after`."""

    after: int
    """How many of `eigenvalues_` are below it."""
    size: float


class SpectralEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SerializableEstimator):
    """The smoothest functions on a graph of rows, (D − A) v = λ D v from the smallest λ, without the constant.

    They are found as functions of the features: `transform` takes rows never seen, and costs the same for each of them.
    The graph joins each row with its `n_neighbors` nearest (and those it is nearest to, half as much if that is one-
    sided), of which fewer follow finer shapes and more keep it in one part; or all rows by exp(−gamma |x − y|²) with
    `affinity="rbf"` (gamma=None: one over the number of features); or it is yours, with `affinity="precomputed"`:
    `fit(X, edges=A)` for a symmetric matrix A, sparse or dense. `eigenvalues_` are those of this graph, but for the
    densest. Functions are combinations of each row's shares in `cells` cells, next to the graph's eigenvectors; more
    cells are more exact, slower, and a larger file.
    Each has mean zero and variance one where rows count by their degrees. Self-loops count for nothing.

    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(600, noise=0.05, random_state=0)
    >>> embedding = SpectralEmbedding(1, n_neighbors=20, random_state=0).fit(X[:400])
    >>> bool(abs(np.corrcoef(embedding.transform(X[400:])[:, 0], moon[400:])[0, 1]) > 0.9)
    True
    """

    n_features_in_: int
    _format: ClassVar[str] = "eigenax-spectral-embedding-3"
    _holds: ClassVar[str] = "a spectral embedding"

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

    def fit(self: Me, X: Any, y: Any = None, *, edges: Any = None) -> Me:
        """Learn from rows (N, d); `edges`, (N, N), is for `affinity="precomputed"` alone."""
        if self.affinity == "precomputed" and edges is None:
            raise ValueError("affinity='precomputed' needs the graph too: fit(X, edges=A), A of shape (rows, rows)")
        rows = self._checked(X, reset=True, least=2)
        self._memory, self._seen = rows[:0], 0
        self._learned(rows, edges)
        self._remember(rows)
        return self

    def partial_fit(self: Me, X: Any, y: Any = None) -> Me:
        """Go on learning from one more chunk: of its rows and all earlier ones, or a random part if they are many."""
        if self.affinity == "precomputed":
            raise ValueError(
                "partial_fit makes a graph of old and new rows together, so affinity must be 'nearest_neighbors' or "
                "'rbf'; got 'precomputed': fit all rows at once"
            )
        first = not hasattr(self, "modes_")
        rows = self._checked(X, reset=first, least=2 if first else 1)
        if first:
            self._memory, self._seen = rows[:0], 0
        before = self._memory, self._seen
        self._remember(rows)
        try:
            self._learned(self._memory, None)
        except Exception:
            self._memory, self._seen = before
            raise
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Float[np.ndarray, "N n"]:
        """The embedding of the rows that it learns from; `edges` as for `fit`."""
        return self.fit(X, y, **fit_params).embedding_

    def transform(self, X: Any) -> Float[np.ndarray, "N n"]:
        """The functions at each row, a few rows at a time."""
        check_is_fitted(self)
        return self._at(self._checked(X, reset=False, least=1))

    def _at(self, rows: Float[np.ndarray, "N d"]) -> Float[np.ndarray, "N n"]:
        return features_of(self.modes_, rows, progress=self.verbose).astype(rows.dtype)

    def _learned(self, rows: Float[np.ndarray, "N d"], edges: Any) -> None:
        n, cells = positive_int("n_components", self.n_components), positive_int("cells", self.cells)
        check_choice("affinity", self.affinity, AFFINITIES)
        if n >= len(rows):
            raise ValueError(f"n_components must be less than the number of rows, {len(rows)}; got {n}")
        if n >= cells:
            raise ValueError(f"cells must be more than n_components = {n}, better ten times as many; got {cells}")
        if (rows == rows[0]).all():
            raise ValueError("every row of X is the same: no function of them can differ")
        seed = int(check_random_state(self.random_state).randint(2**31))
        features = rows.astype(np.float64)
        made, tuned_on = self._edges(rows, edges), None
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "the graph has"
            )  # parts of it were told of in the words of this estimator
            graph = Graph(made, features, measure="degrees")
            if self.affinity != "precomputed" and len(rows) > LOOKED_AT:
                some = features[np.random.default_rng(seed).permutation(len(rows))[:LOOKED_AT]]
                tuned_on = Graph(self._made(some), some, measure="degrees")
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
        self._told()
        self.embedding_ = self._at(rows)

    def _told(self) -> None:
        """What follows from the modes."""
        self.eigenvalues_ = self.modes_.eigenvalues
        steps = np.diff(self.eigenvalues_, prepend=0)
        self.eigengap_ = Eigengap(int(steps.argmax()), float(steps.max()))
        self._n_features_out = self.modes_.n

    def _edges(self, rows: Float[np.ndarray, "N d"], edges: Any) -> Adjacency:
        """A symmetric graph without loops, in which each row has an edge."""
        if self.affinity == "precomputed":
            made = _symmetric(edges, len(rows))
        elif edges is not None:
            raise ValueError(f"edges go with affinity='precomputed' alone; got affinity={self.affinity!r}")
        else:
            made = self._made(rows.astype(np.float64))
        alone = np.flatnonzero(made.sum(1) <= 0)
        if len(alone):
            raise ValueError(
                f"every row must have an edge to another; {len(alone)} have none, the first is row {alone[0]}: leave "
                "them out, or " + ("take a smaller gamma" if self.affinity == "rbf" else "give them one")
            )
        parts = connected_components(made, directed=False, return_labels=False)
        if parts > 1:
            more = "" if self.affinity == "precomputed" else "; more n_neighbors or a smaller gamma joins them"
            warnings.warn(
                f"the graph falls into {parts} parts without an edge between them: the first {parts - 1} functions "
                f"only tell these apart{more}",
                stacklevel=4,
            )
        return made

    def _made(self, rows: Float[np.ndarray, "N d"]) -> Adjacency:
        """The graph of rows by the rule."""
        if self.affinity == "nearest_neighbors":
            others = len(rows) - 1
            if positive_int("n_neighbors", self.n_neighbors) > others:
                warnings.warn(
                    f"n_neighbors = {self.n_neighbors} is more than the {others} other rows there are: each is joined "
                    "with all of them",
                    stacklevel=5,
                )
            return neighbour_graph(rows, self.n_neighbors)
        if len(rows) > DENSE:
            raise ValueError(
                f"affinity='rbf' has a number for each pair of rows, of which it takes at most {DENSE}; got "
                f"{len(rows)}: take affinity='nearest_neighbors'"
            )
        gamma = 1 / rows.shape[1] if self.gamma is None else self.gamma
        if not (isinstance(gamma, numbers.Real) and 0 < float(gamma) < np.inf):
            raise ValueError(f"gamma must be a positive number, or None for one over the features; got {gamma!r}")
        return rbf_graph(rows, float(gamma))

    def _checked(self, X: Any, reset: bool, least: int) -> Float[np.ndarray, "N d"]:
        # The types of scikit-learn's own function are those of its default.
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=least)  # pyright: ignore

    def _remember(self, rows: Float[np.ndarray, "N d"]) -> None:
        """Keep a sample of all that was seen, each row with the same chance, in the room that there is."""
        room = max(0, REMEMBERED - len(self._memory))
        kept, late = np.concatenate([self._memory, rows[:room]]), rows[room:]
        if len(late):
            counts = self._seen + len(rows) - len(late) + 1 + np.arange(len(late))
            places = np.random.default_rng(self._seen).integers(counts)
            kept[places[places < REMEMBERED]] = late[places < REMEMBERED]
        self._memory, self._seen = kept, self._seen + len(rows)

    def _forget(self) -> None:
        self._memory, self._seen = np.zeros((0, self.n_features_in_)), 0


def _symmetric(edges: Any, count: int) -> Adjacency:
    """A matrix that somebody gave, as a graph without loops, or an error."""
    try:
        graph = scipy.sparse.csr_array(edges, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"edges must be a matrix of numbers, sparse or dense; got {type(edges).__name__}") from error
    if graph.shape != (count, count):
        raise ValueError(f"edges must have a row and a column for each row of X, {(count, count)}; got {graph.shape}")
    if not np.isfinite(graph.data).all():
        raise ValueError("edges must be finite; got NaN or infinity")
    if (graph.data < 0).any():
        raise ValueError(f"edges must not be negative, since they say how alike rows are; got {graph.data.min():.3g}")
    unlike = abs(graph - graph.T).max()
    if unlike > 1e-8 * graph.max():
        raise ValueError(f"edges must be symmetric; A and its transpose differ by {unlike:.3g}: give (A + A.T) / 2")
    graph = scipy.sparse.csr_array((graph + graph.T) / 2)
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph

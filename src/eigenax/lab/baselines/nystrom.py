"""Spectral embeddings by decomposing matrices: of a whole graph, and of landmarks with the Nyström extension."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.softmax_cells import Adjacency, neighbour_graph, rbf_graph, squared_distances
from eigenax.lab.baselines.graph import exact_modes, graph_of

PIECE, ZERO = 4096, 1e-10
"""Points that are held at once, and eigenvalues that are zero up to rounding."""


class Decomposition(NamedTuple):
    """Eigenvalues of (D − A) v = λ D v from the smallest, without the constant, and vectors orthonormal under D."""

    eigenvalues: Float[np.ndarray, " n"]
    vectors: Float[np.ndarray, "N n"]


def decomposed(edges: Adjacency, n: int) -> Decomposition:
    """The first n non-constant eigenvectors of a graph, dense or by shift and invert.

    >>> import scipy.sparse
    >>> pair_of_pairs = scipy.sparse.csr_array(np.array([[0, 1, 0, 0], [1, 0, 0.1, 0], [0, 0.1, 0, 1], [0, 0, 1, 0]]))
    >>> np.sign(decomposed(pair_of_pairs, 1).vectors[:, 0] * decomposed(pair_of_pairs, 1).vectors[0, 0])
    array([ 1.,  1., -1., -1.])
    """
    found, degrees = exact_modes(graph_of(edges, "degrees"), n + 1), edges.sum(1)
    vectors = _constant_first(found.values[: n + 1], found.vectors[:, : n + 1], degrees / degrees.sum())
    return Decomposition(found.values[1 : n + 1], vectors[:, 1:])


def _constant_first(
    values: Float[np.ndarray, " m"], vectors: Float[np.ndarray, "N m"], shares: Float[np.ndarray, " N"]
) -> Float[np.ndarray, "N m"]:
    """Eigenvectors of zero turned so that the first is the constant: a graph in several parts has any of them."""
    zeros = int(max(1, (values < ZERO).sum()))
    parts = vectors[:, :zeros].T @ shares  # the constant's, in the inner product in which they are orthonormal
    turn = np.linalg.qr(np.concatenate([parts[:, None], np.eye(zeros)], 1))[0]
    return np.concatenate([vectors[:, :zeros] @ turn, vectors[:, zeros:]], 1)


class Nystrom(NamedTuple):
    """Eigenvectors of the graph of landmarks, and what they are elsewhere: v(x) = Σ_j P(x, j) v_j / (1 − λ).

    P(x, j) is the share of landmark j in the affinities of x to its `neighbours` nearest landmarks, all alike; or, with
    `neighbours` = 0, to all of them, exp(−gamma |x − y|²).
    """

    landmarks: Float[np.ndarray, "m d"]
    found: Decomposition
    neighbours: int
    gamma: float

    @classmethod
    def of(cls, landmarks: Float[np.ndarray, "m d"], n: int, *, neighbours: int = 10, gamma: float = 1.0) -> "Nystrom":
        """Of these landmarks, n functions.

        >>> t = np.linspace(0, 1, 50)[:, None]
        >>> line = Nystrom.of(t, 1, neighbours=4)
        >>> np.sign(line(np.array([[0.01], [0.99]]))).sum().item()
        0.0
        """
        graph = neighbour_graph(landmarks, neighbours) if neighbours else rbf_graph(landmarks, gamma)
        return cls(landmarks, decomposed(graph, n), neighbours, gamma)

    @property
    def model_bytes(self) -> int:
        """Of the landmarks and their vectors, in float32."""
        return 4 * (self.landmarks.size + self.found.vectors.size + self.found.eigenvalues.size)

    def __call__(self, rows: Float[np.ndarray, "p d"]) -> Float[np.ndarray, "p n"]:
        """The functions at any rows, a few at a time."""
        extend = self._near() if self.neighbours else self._all
        pieces = [extend(rows[start : start + PIECE]) for start in range(0, len(rows), PIECE)]
        faded = 1 - self.found.eigenvalues  # where this is zero, neighbours tell nothing
        return np.concatenate(pieces) * np.where(np.abs(faded) > ZERO, 1 / np.where(faded == 0, 1, faded), 0)

    def _near(self) -> Callable[[np.ndarray], np.ndarray]:
        from sklearn.neighbors import NearestNeighbors

        search = NearestNeighbors(n_neighbors=min(self.neighbours, len(self.landmarks))).fit(self.landmarks)
        return lambda rows: self.found.vectors[search.kneighbors(rows, return_distance=False)].mean(1)

    def _all(self, rows: Float[np.ndarray, "p d"]) -> Float[np.ndarray, "p n"]:
        exponents = -self.gamma * squared_distances(rows, self.landmarks)
        shares = np.exp(exponents - exponents.max(1, keepdims=True))
        return shares @ self.found.vectors / shares.sum(1, keepdims=True)


def landmarks_within(size: int, rows: Float[np.ndarray, "N d"], n: int, seed: int) -> Float[np.ndarray, "m d"]:
    """As many random rows as landmarks with n functions as fit into `size` bytes, all of them if they do.

    >>> landmarks_within(4 * (3 + 2) * 10 + 8, np.zeros((100, 3)), n=2, seed=0).shape
    (10, 3)
    """
    count = min(len(rows), max(n + 2, (size - 4 * n) // (4 * (rows.shape[1] + n))))
    return rows[np.random.default_rng(seed).permutation(len(rows))[:count]]


class Likeness(NamedTuple):
    """How near one embedding of rows is to another of as many columns."""

    subspace_distance: float
    """Of what the columns span, from 0, the same, to 1."""
    mean_cosine: float
    """Between columns after the rotation that brings them nearest, at most 1."""

    @classmethod
    def of(cls, found: Float[np.ndarray, "p n"], exact: Float[np.ndarray, "p n"]) -> "Likeness":
        """Of the values at the same rows, without their means.

        >>> rows = np.random.default_rng(0).normal(size=(50, 2))
        >>> [abs(round(number, 6)) for number in Likeness.of(rows @ [[0.0, 1.0], [-1.0, 0.0]], rows)]
        [0.0, 1.0]
        """
        found, exact = found - found.mean(0), exact - exact.mean(0)
        common = np.linalg.qr(found)[0].T @ np.linalg.qr(exact)[0]
        left, _, right = np.linalg.svd(found.T @ exact)
        turned = found @ left @ right
        cosines = (turned * exact).sum(0) / np.linalg.norm(turned, axis=0) / np.linalg.norm(exact, axis=0)
        return cls(float(1 - (common**2).sum() / len(common)), float(np.abs(cosines).mean()))

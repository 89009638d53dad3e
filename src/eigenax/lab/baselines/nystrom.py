"""Spectral embeddings by matrix decomposition: of a whole graph, or of landmarks with the Nyström extension."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from eigenax.bases.softmax_cells import Adjacency, neighbour_graph, rbf_graph, squared_distances
from eigenax.lab.baselines.graph import exact_modes, graph_of

PIECE = 4096
"""Number of points that are computed at a time."""
ZERO = 1e-10
"""Eigenvalues below this are zero up to rounding."""


class Decomposition(NamedTuple):
    """The smallest eigenvalues of (D − A) v = λ D v and its eigenvectors, orthonormal under D, without the constant."""

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
    """Rotate the eigenvectors of zero so that the first is constant: a disconnected graph has several of them."""
    zeros = int(max(1, (values < ZERO).sum()))
    # The coefficients of the constant, in the inner product in which the eigenvectors are orthonormal.
    constant = vectors[:, :zeros].T @ shares
    rotation = np.linalg.qr(np.concatenate([constant[:, None], np.eye(zeros)], 1))[0]
    return np.concatenate([vectors[:, :zeros] @ rotation, vectors[:, zeros:]], 1)


class Nystrom(NamedTuple):
    """Eigenvectors of the graph of landmarks, extended to any x by v(x) = Σ_j P(x, j) v_j / (1 − λ).

    P(x, j) is the affinity of x to landmark j, divided by the sum over all landmarks. It is the same for the
    `neighbours` nearest landmarks and zero for others; with `neighbours` = 0, affinities are exp(−gamma |x − y|²).
    """

    landmarks: Float[np.ndarray, "m d"]
    found: Decomposition
    neighbours: int
    gamma: float

    @classmethod
    def of(cls, landmarks: Float[np.ndarray, "m d"], n: int, *, neighbours: int = 10, gamma: float = 1.0) -> "Nystrom":
        """The first n functions of the graph of these landmarks.

        >>> t = np.linspace(0, 1, 50)[:, None]
        >>> line = Nystrom.of(t, 1, neighbours=4)
        >>> np.sign(line(np.array([[0.01], [0.99]]))).sum().item()
        0.0
        """
        graph = neighbour_graph(landmarks, neighbours) if neighbours else rbf_graph(landmarks, gamma)
        return cls(landmarks, decomposed(graph, n), neighbours, gamma)

    @property
    def model_bytes(self) -> int:
        """Bytes of the landmarks, eigenvectors and eigenvalues in float32."""
        return 4 * (self.landmarks.size + self.found.vectors.size + self.found.eigenvalues.size)

    def __call__(self, rows: Float[np.ndarray, "p d"]) -> Float[np.ndarray, "p n"]:
        """The functions at any rows, computed in pieces."""
        extend = self._from_nearest() if self.neighbours else self._from_all
        pieces = [extend(rows[start : start + PIECE]) for start in range(0, len(rows), PIECE)]
        divisors = 1 - self.found.eigenvalues
        known = np.abs(divisors) > ZERO  # the extension is not defined for other functions, and is zero
        return np.concatenate(pieces) * np.where(known, 1 / np.where(known, divisors, 1), 0)

    def _from_nearest(self) -> Callable[[np.ndarray], np.ndarray]:
        from sklearn.neighbors import NearestNeighbors

        search = NearestNeighbors(n_neighbors=min(self.neighbours, len(self.landmarks))).fit(self.landmarks)
        return lambda rows: self.found.vectors[search.kneighbors(rows, return_distance=False)].mean(1)

    def _from_all(self, rows: Float[np.ndarray, "p d"]) -> Float[np.ndarray, "p n"]:
        exponents = -self.gamma * squared_distances(rows, self.landmarks)
        shares = np.exp(exponents - exponents.max(1, keepdims=True))
        return shares @ self.found.vectors / shares.sum(1, keepdims=True)


def landmarks_within(size: int, rows: Float[np.ndarray, "N d"], n: int, seed: int) -> Float[np.ndarray, "m d"]:
    """Random rows, as many as a model of n functions can keep in `size` bytes; all rows if they fit.

    >>> landmarks_within(4 * (3 + 2) * 10 + 8, np.zeros((100, 3)), n=2, seed=0).shape
    (10, 3)
    """
    count = min(len(rows), max(n + 2, (size - 4 * n) // (4 * (rows.shape[1] + n))))
    return rows[np.random.default_rng(seed).permutation(len(rows))[:count]]


class Likeness(NamedTuple):
    """The similarity of two embeddings of the same rows in equally many dimensions."""

    subspace_distance: float
    """Distance between the spans of the columns: 0 if they are equal, 1 if they are orthogonal."""
    mean_cosine: float
    """Mean cosine between corresponding columns after the rotation that aligns them best; at most 1."""

    @classmethod
    def of(cls, found: Float[np.ndarray, "p n"], exact: Float[np.ndarray, "p n"]) -> "Likeness":
        """Compare two embeddings by their values at the same rows, each column centred.

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

"""All the data of a graph or of recorded steps, as sources declare it, and moments of functions on it, in float64."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse
from jaxtyping import Bool, Float, Int, Real

from eigenax.core.ritz import distance_to_exact
from eigenax.core.row_keys import distinct
from eigenax.core.standard_error import scatter_of
from eigenax.progress import progress_track

PIECE = 4096
"""Nodes that are evaluated at once."""
BATCH = 1024
"""Steps that are evaluated at once."""
LOOKED_AT = 20_000
"""Randomly chosen edges or steps, from which the distance between neighbouring nodes is estimated."""

Functions = Callable[[Float[np.ndarray, "p d"]], Float[np.ndarray, "p f"]]
"""Maps p rows of features to the values of f functions."""


class Sums(NamedTuple):
    """The moments Σ_ij = ⟨u_i, u_j⟩ and Π_ij = ⟨u_i, L u_j⟩ of functions u."""

    sigma: Float[np.ndarray, "f f"]
    pi: Float[np.ndarray, "f f"]


class Quotients(NamedTuple):
    """Rayleigh quotients ⟨v, L v⟩/⟨v, v⟩, their estimated distances from exact eigenvalues, and residual norms.

    A residual norm is ‖(L − λ) v‖/‖v‖.
    """

    values: Float[np.ndarray, " n"]
    distances: Float[np.ndarray, " n"]
    residuals: Float[np.ndarray, " n"]


class WholeGraph:
    """All nodes and edges of a graph, and `scale` times its Laplacian, in float64; `counts` are weights of nodes."""

    def __init__(
        self,
        rows: Float[np.ndarray, "nodes d"],
        matrix: scipy.sparse.csr_array,
        measure: str,
        scale: float = 1.0,
        counts: Float[np.ndarray, " nodes"] | None = None,
    ):
        self.rows, self.matrix, self.measure, self.scale = rows, matrix, measure, scale
        counts = counts_of(matrix, measure) if counts is None else counts
        self.counts, self.total = counts / counts.sum(), float(counts.sum())
        self.rank = int((counts > 0).sum())

    @cached_property
    def laplacian(self) -> scipy.sparse.csr_array:
        """`scale` times D − A, divided by the total weight of the nodes."""
        return self.scale / self.total * laplacian_of(self.matrix)

    @cached_property
    def size(self) -> float:
        """The largest diagonal element of the operator, whose largest eigenvalue is at most twice that."""
        counted = self.counts > 0
        return float(np.abs(self.laplacian.diagonal()[counted] / self.counts[counted]).max())

    def scaled(self, scale: float) -> "WholeGraph":
        """The same graph with another multiple of its Laplacian."""
        if scale == self.scale:
            return self
        return WholeGraph(self.rows, self.matrix, self.measure, scale, self.total * self.counts)

    def merged(self, places: Int[np.ndarray, " merged"], numbers: Int[np.ndarray, " nodes"]) -> "WholeGraph":
        """Merge nodes of the same number into one, which has all their edges and the sum of their weights.

        `places` holds, for each merged node, a node whose row it keeps.
        """
        if len(places) == len(numbers):
            return self
        into = scipy.sparse.csr_array((np.ones(len(numbers)), (numbers, np.arange(len(numbers)))))
        matrix = scipy.sparse.csr_array(into @ self.matrix @ into.T)
        return WholeGraph(self.rows[places], matrix, self.measure, self.scale, self.total * (into @ self.counts))

    def check(self, n: int) -> None:
        """Refuse to look for more functions than there are nodes with edges."""
        if n > self.rank:
            raise ValueError(f"n must be at most the number of nodes with edges, {self.rank}; got {n}")

    def changes(self, seed: int) -> Float[np.ndarray, "e d"]:
        """How the features change along a random sample of edges."""
        matrix = self.laplacian.tocoo()
        first, second = (part[matrix.row != matrix.col] for part in (matrix.row, matrix.col))
        some = np.random.default_rng(seed).permutation(len(first))[:LOOKED_AT]
        return self.rows[first[some]] - self.rows[second[some]]

    def moments(self, functions: Functions, progress: bool) -> Sums:
        """The moments of functions over all nodes and edges."""
        sums: list[np.ndarray] = []
        for nodes, laplacian in self._pieces(progress):
            u, lu = functions(self.rows[nodes]), of_neighbours(laplacian, functions, self.rows)
            parts = u.T @ (self.counts[nodes, None] * u), u.T @ lu
            sums = [a + b for a, b in zip(sums, parts, strict=True)] if sums else list(parts)
        return Sums(sums[0], (sums[1] + sums[1].T) / 2)

    def quotients(self, v: Float[np.ndarray, "nodes n"]) -> Quotients:
        """Rayleigh quotients from the values v at nodes: rounding has moved these from what the moments describe."""
        counted, lv = self.counts > 0, self.laplacian @ v
        norms = self.counts @ v**2
        values = (v * lv).sum(0) / norms
        rest = lv[counted] / self.counts[counted, None] - values * v[counted]
        residuals = np.sqrt(self.counts[counted] @ rest**2 / norms)
        rounding = np.finfo(float).eps * self.size
        return Quotients(values, np.maximum(distance_to_exact(values, residuals), rounding), residuals)

    def _pieces(self, progress: bool) -> Iterator[tuple[slice, scipy.sparse.csr_array]]:
        starts = range(0, len(self.rows), PIECE)
        for start in progress_track(starts, "adding up", show=progress and len(starts) > 4):
            nodes = slice(start, start + PIECE)
            yield nodes, self.laplacian[nodes]


class TransitionData:
    """All recorded steps of a process, and `scale` times the Laplacian of the graph they form, in float64.

    Functions found on every other batch of steps can be validated on the rest.
    """

    def __init__(self, before: Real[np.ndarray, "steps d"], after: Real[np.ndarray, "steps d"], scale: float = 1.0):
        if len(before) < 2:
            raise ValueError("there must be at least two steps, one to find functions and one to check them; got 1")
        self.before, self.after, self.rows, self.scale = before, after, before, scale

    def scaled(self, scale: float) -> "TransitionData":
        """The same steps with another multiple of the Laplacian."""
        return TransitionData(self.before, self.after, scale)

    @cached_property
    def states(self) -> "States":
        """The distinct rows, and the numbers of the two that each step leads from and to."""
        rows = np.concatenate([self.before, self.after])
        places, numbers = distinct(rows)
        return States(rows[places], *np.split(numbers, 2))

    def half(self) -> Bool[np.ndarray, " steps"]:
        """Which steps are in the first of the two `halves`."""
        return np.arange(len(self.before)) // self._size % 2 == 0

    def changes(self, seed: int) -> Float[np.ndarray, "e d"]:
        """How the features change in a random sample of steps."""
        some = np.random.default_rng(seed).permutation(len(self.before))[:LOOKED_AT]
        return self.after[some] - self.before[some]

    def halves(self, functions: Functions, progress: bool) -> tuple[Sums, Sums]:
        """The moments of functions over the even and over the odd batches of steps, at both ends of each step.

        Both are divided by the number of all steps, so that their sum is the mean over all steps.
        """
        sums: dict[int, list[np.ndarray]] = {}
        for number, (before, after) in enumerate(self._batches(progress)):
            u, v = functions(before), functions(after)
            change = u - v
            parts = u.T @ u + v.T @ v, self.scale * (change.T @ change)
            old = sums.get(number % 2, [np.zeros_like(part) for part in parts])
            sums[number % 2] = [a + b for a, b in zip(old, parts, strict=True)]
        first, second = (Sums(*(part / (2 * len(self.before)) for part in sums[half])) for half in (0, 1))
        return first, second

    def errors(self, functions: Functions, values: Float[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        """Standard errors from the scatter between groups of steps, and NaN for residuals: steps do not tell them."""
        influence = []
        for before, after in self._batches(False):
            u, v = functions(before), functions(after)
            influence.append((self.scale * (u - v) ** 2 - values * (u**2 + v**2)) / 2)
        return scatter_of(np.concatenate(influence)), np.full(len(values), np.nan)

    @property
    def _size(self) -> int:
        return min(BATCH, -(-len(self.before) // 2))

    def _batches(self, progress: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        size, starts = self._size, range(0, len(self.before), self._size)
        for start in progress_track(starts, "adding up", show=progress and len(starts) > 16):
            yield self.before[start : start + size], self.after[start : start + size]


class States(NamedTuple):
    """The distinct rows, and the steps between them by the numbers of these rows."""

    rows: Float[np.ndarray, "states d"]
    before: Int[np.ndarray, " steps"]
    after: Int[np.ndarray, " steps"]

    def graph(self, steps: Bool[np.ndarray, " steps"] | slice, scale: float) -> WholeGraph:
        """The graph whose edges are these steps; each state is weighted by the steps it is in."""
        entries, many = (self.before[steps], self.after[steps]), len(self.rows)
        taken = scipy.sparse.csr_array((np.ones(len(entries[0])), entries), (many, many))
        return WholeGraph(self.rows, scipy.sparse.csr_array(taken + taken.T), "degrees", scale)


def laplacian_of(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """D − A."""
    return scipy.sparse.csr_array(scipy.sparse.diags_array(matrix.sum(1)) - matrix)


def counts_of(matrix: scipy.sparse.csr_array, measure: str) -> Float[np.ndarray, " nodes"]:
    """The weight of each node: its degree, or, unless `measure` is "degrees", one if it has edges and zero if not."""
    degrees = matrix.sum(1)
    return degrees if measure == "degrees" else (degrees > 0).astype(float)


def of_neighbours(
    matrix: scipy.sparse.csr_array, functions: Functions, rows: Float[np.ndarray, "nodes d"]
) -> Float[np.ndarray, "p f"]:
    """A u for some rows of a matrix A; u is evaluated only at the nodes that these rows touch."""
    touched, places = np.unique(matrix.indices, return_inverse=True)
    shape = (len(matrix.indptr) - 1, len(touched))
    return scipy.sparse.csr_array((matrix.data, places, matrix.indptr), shape) @ functions(rows[touched])


def in_pieces(functions: Functions, rows: Float[np.ndarray, "nodes d"]) -> Iterator[Float[np.ndarray, "p f"]]:
    """The values of functions at all rows, in pieces."""
    return (functions(rows[start : start + PIECE]) for start in range(0, len(rows), PIECE))

"""Rayleigh–Ritz on sums over all the data: symmetric up to rounding, with ridges that keep functions smooth."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from eigenax.core.blas_threads import few_threads
from eigenax.core.ritz import GUARDS, Combination, hermitian
from eigenax.core.whitening import whiten
from eigenax.errors import SingularMomentsError

SPAN_CUTOFF = 1e-8
"""Singular values below this share of the largest one count as zero where solutions with several ridges are joined."""


class Pencil(NamedTuple):
    """The eigenproblem Π c = λ Σ c with symmetric Π, in combinations of functions that are orthonormal under Σ.

    Σ and Π are sums over all the data, so that Π is symmetric up to rounding.

    >>> Pencil.of(np.eye(3), np.diag([3.0, 1.0, 2.0]), 2, 1e-13).lowest(2)
    Combination(values=array([1., 2.]), coefficients=array([[0., 0.],
           [1., 0.],
           [0., 1.]]), next_value=3.0)
    """

    whitening: Float[np.ndarray, "f r"]
    matrix: Float[np.ndarray, "r r"]
    """Π of these combinations."""
    cost: Float[np.ndarray, "r r"]
    """The Gram matrix of the coefficient vectors of these combinations, of functions scaled to variance one.

    A ridge penalises it.
    """

    @classmethod
    def of(
        cls,
        sigma: Float[np.ndarray, "f f"],
        pi: Float[np.ndarray, "f f"],
        n: int,
        cutoff: float,
        *,
        rank: int | None = None,
        floor: float = 0.0,
    ) -> "Pencil":
        """The eigenproblem of functions with these moments, at least n of them independent; `whiten` has the rest."""
        whitening, variances = whiten(sigma, cutoff, rank=rank, floor=floor)
        if len(variances) < n:
            raise SingularMomentsError(
                f"{n} functions cannot be told apart, only {len(variances)} can be: ask for fewer modes, or give "
                "more points, or features that tell more of them apart"
            )
        return cls(whitening, hermitian(whitening.T @ pi @ whitening), np.diag(1 / variances))

    @property
    def rank(self) -> int:
        """The number of independent functions."""
        return len(self.cost)

    def lowest(self, n: int, ridge: float = 0.0) -> Combination:
        """The n lowest solutions, with `ridge` times the sum of squared coefficients added to Rayleigh quotients."""
        values, vectors = self._lowest(n + 1, ridge)
        return Combination(values[:n], self.whitening @ vectors[:, :n], *values[n:].tolist())

    def _lowest(
        self, n: int, ridge: float, taken: Float[np.ndarray, "r t"] | None = None
    ) -> tuple[Float[np.ndarray, " _"], Float[np.ndarray, "r _"]]:
        penalised = self.matrix + ridge * self.cost
        if taken is not None:  # lift these to the upper end of the spectrum
            penalised = penalised + 2 * np.trace(penalised) * taken @ taken.T
        with few_threads(self.rank):
            return scipy.linalg.eigh(penalised, subset_by_index=(0, min(n, self.rank) - 1))

    def narrowed(self, n: int, ridges: Sequence[float]) -> "Pencil":
        """The eigenproblem restricted to the span of the n lowest solutions with each of these ridges.

        `lowest` with one of these ridges, and `one_by_one` with several, then cost less.
        """
        together = np.concatenate([self._lowest(n + GUARDS, ridge)[1] for ridge in ridges], 1)
        if together.shape[1] >= self.rank:
            return self
        with few_threads(self.rank):
            basis, sizes, _ = np.linalg.svd(together, full_matrices=False)
        basis = basis[:, sizes > SPAN_CUTOFF * sizes[0]]
        return Pencil(self.whitening @ basis, basis.T @ self.matrix @ basis, basis.T @ self.cost @ basis)

    def next_lowest(self, taken: Float[np.ndarray, "r t"], ridge: float, n: int = 1) -> Float[np.ndarray, "r n"]:
        """The n lowest solutions uncorrelated with those `taken`; both are coefficients of the whitened functions."""
        vectors = self._lowest(n, ridge, taken)[1]
        return np.linalg.qr(vectors - taken @ (taken.T @ vectors))[0]

    def one_by_one(self, ridges: Sequence[float], n: int) -> Float[np.ndarray, "r n"]:
        """n uncorrelated solutions, each with its own ridge, as coefficients of the whitened functions.

        The first ridge gives the lowest solution, the second the lowest one uncorrelated with it, and so on; the last
        ridge gives all the remaining ones.
        """
        taken = np.zeros((self.rank, 0))
        for count, ridge in enumerate(ridges, start=1):
            many = 1 if count < len(ridges) else n - count + 1
            taken = np.concatenate([taken, self.next_lowest(taken, ridge, many)], 1)
        return taken

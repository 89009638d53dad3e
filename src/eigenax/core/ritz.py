"""From second moments Σ and Π to ordered, orthonormal functions: a small generalised eigenproblem in float64."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float, Inexact

from eigenax.core.blas_threads import few_threads
from eigenax.errors import SingularMomentsError

Finish = Literal["eigh", "cholesky", "ritz"]

CUTOFFS = {
    # Moments of samples: sampling noise sets the limit, and other samples tell which of these cutoffs is the best.
    "sampled": (1e-6, 1e-8, 1e-10, 1e-12, 1e-13),
    # Sums over all the data, whose only error is rounding: a few hundred times the rounding of float64.
    "summed": (1e-13,),
    # Such sums, to be multiplied by the number of functions; a ridge chosen on held-out data keeps directions of small
    # variance from being used.
    "ridged": (1e-14,),
}
"""Combinations of functions whose variance is below this share of the largest one are left out, as noise."""
GUARDS = 8
"""Guard vectors: directions iterated beyond those asked for, so that a dense spectrum converges too."""
ITERATIONS = 12
"""Steps of inverse iteration."""
SPAN_CUTOFF = 1e-8
"""Singular values below this share of the largest one count as zero where solutions with several ridges are joined."""


class Combination(NamedTuple):
    """v = u @ coefficients, with the Rayleigh quotients of v."""

    values: Float[np.ndarray, " n"]
    coefficients: Inexact[np.ndarray, "k n"]
    next_value: float | None = None
    """The eigenvalue that follows the last of these, where it is known."""

    def signed(self, sign: int) -> "Combination":
        """The same functions, with their values multiplied by a sign."""
        return Combination(sign * self.values, self.coefficients, self.next_value and sign * self.next_value)


def combine(
    sigma: Inexact[np.ndarray, "k k"], pi: Inexact[np.ndarray, "k k"], finish: Finish = "eigh", sign: int = 1
) -> Combination:
    """Functions orthonormal under Σ, their Rayleigh quotients ascending (descending for sign −1), in float64.

    `"cholesky"` is the paper's v = L⁻¹ u with Λ_kk; `"eigh"` diagonalises Λ as well, which orders and
    separates functions that training left mixed inside their span.

    >>> combine(np.eye(2), np.diag([3.0, 1.0])).values
    array([1., 3.])
    """
    sigma, pi = (np.asarray(part, np.result_type(part, np.float64)) for part in (sigma, pi))
    try:
        cholesky = scipy.linalg.cholesky(sigma, lower=True)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise SingularMomentsError(
            "the covariance of the learned functions is not positive definite: "
            "some of them have died or become equal; lower the learning rate or ask for fewer modes"
        ) from error
    inverse = scipy.linalg.solve_triangular(cholesky, np.eye(len(sigma)), lower=True)
    matrix, adjoint = inverse @ pi @ inverse.conj().T, inverse.conj().T
    if finish == "cholesky":
        return Combination(np.real(np.diag(matrix)).copy(), adjoint)
    values, rotation = np.linalg.eigh(_hermitian(matrix))
    return Combination(values[::sign], adjoint @ rotation[:, ::sign])


class Whitening(NamedTuple):
    """Uncorrelated combinations u @ matrix of variance one, sorted by the variance they had before they were scaled."""

    matrix: Inexact[np.ndarray, "f r"]
    variances: Float[np.ndarray, " r"]
    """The variances before scaling, of combinations of functions that were themselves scaled to variance one."""


def whiten(
    sigma: Inexact[np.ndarray, "f f"], cutoff: float, *, rank: int | None = None, floor: float = 0.0
) -> Whitening:
    """W with W* Σ W = 1, without the directions that rounding or sampling noise decides.

    Functions whose variance is at most `floor` are left out, and the others are scaled to variance one. Of their
    directions, those whose variance is at most `cutoff` times the largest one are left out, and those after the first
    `rank`, which is how many independent functions there can be.

    >>> sigma = np.array([[4.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    >>> matrix, _ = whiten(sigma, 1e-13)
    >>> (matrix.T @ sigma @ matrix).round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    _check_finite(sigma)
    sizes = np.real(np.diag(sigma))
    alive = sizes > floor
    scale = np.where(alive, 1 / np.sqrt(np.where(alive, sizes, 1)), 0)
    with few_threads(len(sigma)):
        variances, axes = np.linalg.eigh(sigma * scale[:, None] * scale)
    variances, axes = variances[::-1], axes[:, ::-1]
    count = min(int((variances > cutoff * variances[0]).sum()), len(variances) if rank is None else rank)
    return Whitening(scale[:, None] * axes[:, :count] / np.sqrt(variances[:count]), variances[:count])


def lowest(
    sigma: Inexact[np.ndarray, "f f"], pi: Inexact[np.ndarray, "f f"], n: int, cuts: Sequence[float]
) -> list[Combination]:
    """The n lowest solutions of Π c = λ Σ c in the span of f functions, for which Π need not be symmetric.

    Π = E[w u* (K u)ᵀ] is used as sampled, not symmetrised: an eigenfunction in the span then solves the problem exactly
    on any samples. `cuts` are descending cutoffs, and there is one list entry, with n solutions, for each: directions
    whose variance is less than the cutoff's share of the largest one are left out, since rounding and sampling noise
    decide there.

    >>> lowest(np.eye(3), np.diag([3.0, 1.0, 2.0]), n=2, cuts=[1e-12])[0].values
    array([1., 2.])
    """
    _check_finite(pi)
    whitening, variances = whiten(sigma, cuts[-1])
    counts = [int((variances > cut * variances.max(initial=0)).sum()) for cut in cuts]
    if max(counts) < n:
        raise SingularMomentsError(
            f"the samples support only {max(counts)} independent functions, but n is {n}: ask for fewer modes"
        )
    matrix = whitening.conj().T @ pi @ whitening
    found, start = [], None
    for count in (max(count, n) for count in counts):
        start = _lowest_subspace(matrix[:count, :count], n, start)
        small = start.conj().T @ matrix[:count, :count] @ start
        basis = start @ _ordered(small, n)
        values, rotation = np.linalg.eigh(_hermitian(basis.conj().T @ matrix[:count, :count] @ basis))
        next_value = float(np.sort(np.linalg.eigvals(small).real)[n]) if len(small) > n else None
        found.append(Combination(values[:n], whitening[:, :count] @ (basis @ rotation[:, :n]), next_value))
    return found


def _lowest_subspace(
    matrix: Inexact[np.ndarray, "m m"], n: int, start: Inexact[np.ndarray, "l g"] | None
) -> Inexact[np.ndarray, "m g"]:
    """An orthonormal basis of the invariant subspace of the n lowest eigenvalues and some more, by inverse iteration.

    It starts from the solution in fewer directions, or, without one, from the lowest eigenvectors of the Hermitian
    part, whose eigenvalues are close, since the other part is sampling noise.
    """
    if start is None:
        last = min(len(matrix), n + GUARDS) - 1
        start = scipy.linalg.eigh(_hermitian(matrix), subset_by_index=(0, last))[1]
    assert start is not None, "given, or computed above"
    basis = np.zeros((len(matrix), start.shape[1]), matrix.dtype)
    basis[: len(start)] = start
    values = np.linalg.eigvalsh(_hermitian(basis.conj().T @ matrix @ basis))
    shift = values[0] - 0.1 * (values[-1] - values[0]) - 1e-6 * abs(values[0])
    factors = scipy.linalg.lu_factor(matrix - shift * np.eye(len(matrix)))
    for _ in range(ITERATIONS):
        basis, _ = np.linalg.qr(scipy.linalg.lu_solve(factors, basis))
    return basis


def _ordered(matrix: Inexact[np.ndarray, "g g"], n: int) -> Inexact[np.ndarray, "g _"]:
    """A basis of the invariant subspace of the n lowest eigenvalues, and of those that equal the n-th up to rounding.

    A pair of eigenvalues that sampling noise made complex stays together.
    """
    if len(matrix) == n:
        return np.eye(n)
    real = np.sort(np.linalg.eigvals(matrix).real)
    gaps = np.diff(real[n - 1 :]) > 1e-8 * np.abs(real).max()
    if not gaps.any():
        return np.eye(len(matrix))
    more = n + int(np.argmax(gaps))
    middle = (real[more - 1] + real[more]) / 2
    vectors = scipy.linalg.schur(matrix, sort=lambda value, _=0.0: np.real(value) <= middle)[1]
    return vectors[:, :more]


def _check_finite(moments: Inexact[np.ndarray, "f f"]) -> None:
    if not np.isfinite(moments).all():
        raise SingularMomentsError(
            "the moments of the functions are not finite: the operator or the network returned NaN or infinity"
        )


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
        return cls(whitening, _hermitian(whitening.T @ pi @ whitening), np.diag(1 / variances))

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


def _hermitian(matrix: Inexact[np.ndarray, "m m"]) -> Inexact[np.ndarray, "m m"]:
    return (matrix + matrix.conj().T) / 2


def distance_to_exact(
    values: Float[np.ndarray, " n"], residuals: Float[np.ndarray, " n"], next_value: float | None = None
) -> Float[np.ndarray, " n"]:
    """Residual²/gap, an estimate of how far each value is from an exact eigenvalue.

    The gap is the distance to the nearest other value that is more than a residual away; `next_value` is among them
    where it is known. Where there is none, the residual itself is the estimate.

    >>> distance_to_exact(np.array([1.0, 3.0]), np.array([0.2, 0.1])).round(3)
    array([0.02 , 0.005])
    """
    distances = np.abs(values[:, None] - np.append(values, [] if next_value is None else next_value))
    gaps = np.where(distances > residuals[:, None], distances, np.inf).min(1, initial=np.inf)
    return np.where(np.isfinite(gaps), residuals**2 / gaps, residuals)

"""From second moments to ordered, orthonormal functions: the last, small, exact step, in float64."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float, Inexact

from eigenax.core.blas_threads import few_threads
from eigenax.errors import SingularMomentsError

Finish = Literal["eigh", "cholesky", "ritz"]

CUTOFFS = {
    # Moments that are sampled: chance decides first, and other samples tell which of these holds.
    "sampled": (1e-6, 1e-8, 1e-10, 1e-12, 1e-13),
    # Sums over everything there is, whose only error is rounding: a few hundred times that of float64.
    "summed": (1e-13,),
    # The same for each function there is, where a ridge chosen on held-out data keeps small directions from being used.
    "ridged": (1e-14,),
}
"""How small the variance of a combination of functions may be for it to count, as a share of the largest one."""
GUARDS, ITERATIONS = 8, 12
"""Directions kept beyond those asked for, so that the iteration converges where the spectrum is dense."""
ALIKE = 1e-8
"""What tells solutions with several ridges apart, of vectors of length one."""


class Combination(NamedTuple):
    """v = u @ coefficients, with the Rayleigh quotients of v."""

    values: Float[np.ndarray, " n"]
    coefficients: Inexact[np.ndarray, "k n"]
    next_value: float | None = None
    """The value after the last of these, where it is known."""

    def signed(self, sign: int) -> "Combination":
        """Values times a sign."""
        return Combination(sign * self.values, self.coefficients, self.next_value and sign * self.next_value)


def combine(
    sigma: Inexact[np.ndarray, "k k"], pi: Inexact[np.ndarray, "k k"], finish: Finish = "eigh", sign: int = 1
) -> Combination:
    """Functions orthonormal under Σ, their Rayleigh quotients ascending (descending for sign −1), in float64.

    `"cholesky"` is the paper's v = L⁻¹ u with Λ_kk; `"eigh"` diagonalises Λ as well, which orders and
    separates whatever training left mixed inside the span.

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
    """Combinations u @ matrix that are uncorrelated and of variance one, those of the largest variance first."""

    matrix: Inexact[np.ndarray, "f r"]
    variances: Float[np.ndarray, " r"]
    """Of the combinations before they are scaled, of functions scaled to variance one."""


def whiten(
    sigma: Inexact[np.ndarray, "f f"], cutoff: float, *, rank: int | None = None, floor: float = 0.0
) -> Whitening:
    """W with W* Σ W = 1, without the directions that rounding or chance decides.

    These are the directions whose variance is at most a `cutoff` of the largest one, once every function has variance
    one, all beyond `rank`, where no more functions can differ, and functions of a variance of at most `floor`.

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

    Π = E[w u* (K u)ᵀ] is taken as it was sampled: a function of the span that is an eigenfunction at every sample
    solves this whatever the samples are, which a symmetrised Π spoils. Directions whose variance is less than a cut of
    the largest one are left out, since rounding and chance decide there: one solution for each of the cuts, which
    descend.

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
    """An orthonormal basis of the invariant subspace of the lowest eigenvalues and some guards, by inverse iteration.

    It begins with the Hermitian part, whose lowest eigenvalues are close since the other part is sampling
    noise, or with the solution in fewer directions.
    """
    if start is None:
        last = min(len(matrix), n + GUARDS) - 1
        start = scipy.linalg.eigh(_hermitian(matrix), subset_by_index=(0, last))[1]
    assert start is not None, "given, or just found"
    basis = np.zeros((len(matrix), start.shape[1]), matrix.dtype)
    basis[: len(start)] = start
    values = np.linalg.eigvalsh(_hermitian(basis.conj().T @ matrix @ basis))
    shift = values[0] - 0.1 * (values[-1] - values[0]) - 1e-6 * abs(values[0])
    factors = scipy.linalg.lu_factor(matrix - shift * np.eye(len(matrix)))
    for _ in range(ITERATIONS):
        basis, _ = np.linalg.qr(scipy.linalg.lu_solve(factors, basis))
    return basis


def _ordered(matrix: Inexact[np.ndarray, "g g"], n: int) -> Inexact[np.ndarray, "g _"]:
    """A basis of the invariant subspace of the n lowest eigenvalues, or of more where the n-th is one of several alike.

    A pair that chance made complex stays together.
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
    """Π c = λ Σ c with Π symmetric, among combinations that are orthonormal under Σ: sums over all there is.

    >>> Pencil.of(np.eye(3), np.diag([3.0, 1.0, 2.0]), 2, 1e-13).lowest(2)
    Combination(values=array([1., 2.]), coefficients=array([[0., 0.],
           [1., 0.],
           [0., 1.]]), next_value=3.0)
    """

    whitening: Float[np.ndarray, "f r"]
    matrix: Float[np.ndarray, "r r"]
    """Π between these combinations."""
    cost: Float[np.ndarray, "r r"]
    """Between these combinations, the products of the coefficients that they take, of functions of variance one."""

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
        """Of functions with these moments, of which there must be n that can be told apart; see `whiten`."""
        whitening, variances = whiten(sigma, cutoff, rank=rank, floor=floor)
        if len(variances) < n:
            raise SingularMomentsError(
                f"{n} functions cannot be told apart, only {len(variances)} can be: ask for fewer modes, or give "
                "more points, or features that tell more of them apart"
            )
        return cls(whitening, _hermitian(whitening.T @ pi @ whitening), np.diag(1 / variances))

    @property
    def rank(self) -> int:
        """How many functions can be told apart."""
        return len(self.cost)

    def lowest(self, n: int, ridge: float = 0.0) -> Combination:
        """The n lowest solutions; a ridge adds so many times the squares of their coefficients to Π."""
        values, vectors = self._lowest(n + 1, ridge)
        return Combination(values[:n], self.whitening @ vectors[:, :n], *values[n:].tolist())

    def _lowest(
        self, n: int, ridge: float, taken: Float[np.ndarray, "r t"] | None = None
    ) -> tuple[Float[np.ndarray, " _"], Float[np.ndarray, "r _"]]:
        penalised = self.matrix + ridge * self.cost
        if taken is not None:  # moved to the other end of the spectrum
            penalised = penalised + 2 * np.trace(penalised) * taken @ taken.T
        with few_threads(self.rank):
            return scipy.linalg.eigh(penalised, subset_by_index=(0, min(n, self.rank) - 1))

    def narrowed(self, n: int, ridges: Sequence[float]) -> "Pencil":
        """Of the few combinations among which the n lowest are with any of these ridges, or one after the other."""
        together = np.concatenate([self._lowest(n + GUARDS, ridge)[1] for ridge in ridges], 1)
        if together.shape[1] >= self.rank:
            return self
        with few_threads(self.rank):
            basis, sizes, _ = np.linalg.svd(together, full_matrices=False)
        basis = basis[:, sizes > ALIKE * sizes[0]]
        return Pencil(self.whitening @ basis, basis.T @ self.matrix @ basis, basis.T @ self.cost @ basis)

    def next_lowest(self, taken: Float[np.ndarray, "r t"], ridge: float, n: int = 1) -> Float[np.ndarray, "r n"]:
        """The n lowest that are uncorrelated with those taken, as combinations of the whitened ones."""
        vectors = self._lowest(n, ridge, taken)[1]
        return np.linalg.qr(vectors - taken @ (taken.T @ vectors))[0]

    def one_by_one(self, ridges: Sequence[float], n: int) -> Float[np.ndarray, "r n"]:
        """The lowest with the first ridge, the lowest uncorrelated one with the second, and so on; what is left with
        the last. As combinations of the whitened ones."""
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

    The gap is the distance to the nearest other value that is not within a residual of this one, the next one among
    them where it is known; where there is none, the residual itself is the estimate.

    >>> distance_to_exact(np.array([1.0, 3.0]), np.array([0.2, 0.1])).round(3)
    array([0.02 , 0.005])
    """
    distances = np.abs(values[:, None] - np.append(values, [] if next_value is None else next_value))
    gaps = np.where(distances > residuals[:, None], distances, np.inf).min(1, initial=np.inf)
    return np.where(np.isfinite(gaps), residuals**2 / gaps, residuals)

"""From second moments Σ and Π to ordered, orthonormal functions: a small generalised eigenproblem in float64."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float, Inexact

from eigenax.core.whitening import check_finite, whiten
from eigenax.errors import SingularMomentsError

Finish = Literal["eigh", "cholesky", "ritz"]

GUARDS = 8
"""Guard vectors: directions iterated beyond those asked for, so that a dense spectrum converges too."""
ITERATIONS = 12
"""Steps of inverse iteration."""


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
    values, rotation = np.linalg.eigh(hermitian(matrix))
    return Combination(values[::sign], adjoint @ rotation[:, ::sign])


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
    check_finite(pi)
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
        values, rotation = np.linalg.eigh(hermitian(basis.conj().T @ matrix[:count, :count] @ basis))
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
        start = scipy.linalg.eigh(hermitian(matrix), subset_by_index=(0, last))[1]
    assert start is not None, "given, or computed above"
    basis = np.zeros((len(matrix), start.shape[1]), matrix.dtype)
    basis[: len(start)] = start
    values = np.linalg.eigvalsh(hermitian(basis.conj().T @ matrix @ basis))
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


def hermitian(matrix: Inexact[np.ndarray, "m m"]) -> Inexact[np.ndarray, "m m"]:
    """The Hermitian part of a matrix."""
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

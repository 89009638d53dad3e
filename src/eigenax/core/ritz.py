"""From second moments to ordered, orthonormal functions: the last, small, exact step."""

from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from jaxtyping import Float

from eigenax.errors import SingularMomentsError

Finish = Literal["rotate", "triangular"]


class Combination(NamedTuple):
    """v = u @ coefficients, with the Rayleigh quotients of v."""

    values: Float[np.ndarray, " k"]
    coefficients: Float[np.ndarray, "k k"]


def combine(
    sigma: Float[np.ndarray, "k k"], pi: Float[np.ndarray, "k k"], finish: Finish = "rotate", sign: int = 1
) -> Combination:
    """Functions orthonormal under Σ, their Rayleigh quotients ascending (descending for sign −1), in float64.

    `"triangular"` is the paper's v = L⁻¹ u with Λ_kk; `"rotate"` diagonalises Λ as well, which orders and
    separates whatever training left mixed inside the span.

    >>> combine(np.eye(2), np.diag([3.0, 1.0])).values
    array([1., 3.])
    """
    sigma, pi = np.asarray(sigma, np.float64), np.asarray(pi, np.float64)
    try:
        cholesky = scipy.linalg.cholesky(sigma, lower=True)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise SingularMomentsError(
            "the covariance of the learned functions is not positive definite: "
            "some of them have died or become equal; lower the learning rate or ask for fewer modes"
        ) from error
    inverse = scipy.linalg.solve_triangular(cholesky, np.eye(len(sigma)), lower=True)
    matrix = inverse @ pi @ inverse.T
    if finish == "triangular":
        return Combination(np.diag(matrix).copy(), inverse.T)
    values, rotation = np.linalg.eigh((matrix + matrix.T) / 2)
    return Combination(values[::sign], inverse.T @ rotation[:, ::sign])

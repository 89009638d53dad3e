"""The best combinations of functions on a graph, from their second moments or from their values at all nodes."""

import numpy as np
import scipy.linalg
from jaxtyping import Float

from eigenax.core.ritz import CUTOFFS, whiten
from eigenax.errors import SingularMomentsError
from eigenax.galerkin.edges import Functions, Moments, WholeGraph

REFINED, MISSED = 3, 1e-7
"""Times that what rounding left over is fitted again, and what may be left of functions of order one."""


def lowest(
    moments: Moments, n: int, sign: int, nodes: int | None
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "f n"], int]:
    """The n lowest solutions of Π c = λ Σ c, and how many directions they were looked for in."""
    whitening = whiten(moments.sigma, *CUTOFFS["summed"], rank=nodes).matrix  # no more functions than nodes
    rank = whitening.shape[1]
    if rank < n:
        raise SingularMomentsError(
            f"n = {n} functions cannot be told apart, only {rank} can be: ask for fewer modes, or give features that "
            "tell the nodes apart"
        )
    matrix = whitening.T @ moments.pi @ whitening
    values, vectors = scipy.linalg.eigh(sign * (matrix + matrix.T) / 2, subset_by_index=(0, n - 1))
    return sign * values, whitening @ vectors, rank


def of_all_functions(
    data: WholeGraph, functions: Functions, n: int, sign: int
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "f n"], int] | None:
    """What `lowest` finds where functions span all there are, by their values: as many unknowns as nodes.

    Nothing where rounding does not let functions take these values, since nodes hardly differ.
    """
    counted = data.counts > 0
    root = np.sqrt(data.counts[counted])
    matrix = data.laplacian[counted][:, counted].toarray() / np.outer(root, root)
    values, vectors = scipy.linalg.eigh(sign * matrix, subset_by_index=(0, n - 1), overwrite_a=True)
    del matrix
    coefficients, missed = _through(functions(data.rows[counted]), vectors / root[:, None])
    return (sign * values, coefficients, data.rank) if missed <= MISSED else None


def _through(
    u: Float[np.ndarray, "nodes f"], wanted: Float[np.ndarray, "nodes n"]
) -> tuple[Float[np.ndarray, "f n"], float]:
    """The smallest coefficients c with u c = wanted, of more functions than nodes, and what is left of wanted."""
    gram = u @ u.T
    size, ridge = float(np.trace(gram)) / len(gram), np.finfo(float).eps
    while True:
        shifted = gram.copy()
        shifted[np.diag_indices_from(gram)] += ridge * size
        try:
            factor = scipy.linalg.cho_factor(shifted, overwrite_a=True)
            break
        except np.linalg.LinAlgError:  # nodes that hardly differ
            ridge *= 10
    coefficients, rest = np.zeros((u.shape[1], wanted.shape[1])), wanted
    for _ in range(REFINED):
        refined = coefficients + u.T @ scipy.linalg.cho_solve(factor, rest)
        left = wanted - u @ refined
        if np.abs(left).max() >= np.abs(rest).max():
            break
        coefficients, rest = refined, left
    return coefficients, float(np.abs(rest).max())

"""Eigenvectors of a graph at all its nodes, as combinations of functions that can take any values there."""

import numpy as np
import scipy.linalg
from jaxtyping import Float

from eigenax.core.ritz import Combination
from eigenax.sources.graph_data import Functions, WholeGraph

REFINED, MISSED = 3, 1e-7
"""Times that what rounding left over is fitted again, and what may be left of functions of order one."""


def of_all_functions(data: WholeGraph, functions: Functions, n: int, sign: int) -> Combination | None:
    """The lowest solutions by a dense nodal eigensolve, and then the coefficients that take these values.

    For functions that span all there are. Nothing where rounding does not let functions take these values, since nodes
    hardly differ.
    """
    counted = data.counts > 0
    root = np.sqrt(data.counts[counted])
    matrix = data.laplacian[counted][:, counted].toarray() / np.outer(root, root)
    last = min(n, len(matrix) - 1)
    values, vectors = scipy.linalg.eigh(sign * matrix, subset_by_index=(0, last), overwrite_a=True)
    del matrix
    coefficients, missed = _through(functions(data.rows[counted]), vectors[:, :n] / root[:, None])
    return Combination(values[:n], coefficients, *values[n:].tolist()) if missed <= MISSED else None


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

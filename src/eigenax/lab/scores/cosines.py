"""How well learned functions match exact eigenvectors, up to rotations inside each eigenspace."""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Matched(NamedTuple):
    """Learned functions, rotated inside each eigenspace to match the exact ones, and the cosines of their angles."""

    functions: Float[np.ndarray, "nodes n"]
    cosines: Float[np.ndarray, " n"]


def blocks_within(values: Float[np.ndarray, " m"], within: float) -> list[slice]:
    """The slices of nearly equal eigenvalues: neighbours differ by at most `within`, relative to the second.

    >>> blocks_within(np.array([0.0, 1.0, 1.005, 2.0]), 0.01)
    [slice(0, 1, None), slice(1, 3, None), slice(3, 4, None)]
    """
    scale = np.abs(values).max()
    apart = np.abs(np.diff(values)) > np.maximum(within * np.abs(values[1:]), 1e-12 * scale)
    edges = [0, *(np.flatnonzero(apart) + 1).tolist(), len(values)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def matched(
    learned: Float[np.ndarray, "nodes n"],
    exact: Float[np.ndarray, "nodes m"],
    values: Float[np.ndarray, " m"],
    weights: Float[np.ndarray, " nodes"],
    within: float = 1e-6,
) -> Matched:
    """Rotate the learned functions of each block of (nearly) equal eigenvalues to match the exact ones.

    There may be more exact eigenvectors than learned functions; give those of the whole last block.

    >>> matched(-np.eye(2), np.eye(2), np.array([1.0, 1.0]), np.ones(2)).cosines
    array([1., 1.])
    """
    root = np.sqrt(weights)[:, None]
    ours, theirs = (root * part / np.linalg.norm(root * part, axis=0) for part in (learned, exact))
    turned, cosines = np.array(learned, np.float64), []
    for block in blocks_within(values, within):
        count = min(block.stop, learned.shape[1]) - block.start
        if count <= 0:
            break
        mine = slice(block.start, block.start + count)
        cosines += np.linalg.svd(ours[:, mine].T @ theirs[:, block], compute_uv=False).tolist()
        # To match the first exact ones of the block, which a picture shows beside them.
        left, _, right = np.linalg.svd(ours[:, mine].T @ theirs[:, mine])
        turned[:, mine] = learned[:, mine] @ (left @ right)
    return Matched(turned, np.minimum(np.array(cosines), 1.0))

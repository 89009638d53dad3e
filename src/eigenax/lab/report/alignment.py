"""Rotations that align learned modes with those of a grid inside each degenerate eigenspace."""

import numpy as np
from jaxtyping import Float
from scipy.linalg import orthogonal_procrustes

from eigenax.domains.box import Box
from eigenax.lab.baselines.grid import GridModes
from eigenax.lab.scores.spectrum import degenerate_blocks
from eigenax.modes import Modes


def square(first: Float[np.ndarray, " p"], second: Float[np.ndarray, " q"]) -> Float[np.ndarray, "p q 2"]:
    """All points (x, y) with x from the first and y from the second coordinates."""
    return np.stack(np.meshgrid(first, second, indexing="ij"), -1)


def grid_lines(box: Box, points: int) -> list[Float[np.ndarray, " points"]]:
    """The coordinates of the interior points of a grid on each axis."""
    return [np.linspace(a, b, points + 2)[1:-1] for a, b in zip(box.low, box.high, strict=True)]


def onto_grid(modes: Modes, box: Box, grid: GridModes, exact: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n n"]:
    """The rotation inside each degenerate eigenspace that brings learned modes closest to those of the grid."""
    lines = grid_lines(box, grid.vectors.shape[-1])
    overlaps = np.tensordot(np.asarray(modes(square(*lines)), float), grid.vectors, ((0, 1), (1, 2)))
    rotation = np.zeros_like(overlaps)
    for shell in degenerate_blocks(exact):
        rotation[shell, shell] = orthogonal_procrustes(np.eye(shell.stop - shell.start), overlaps[shell, shell])[0]
    return rotation

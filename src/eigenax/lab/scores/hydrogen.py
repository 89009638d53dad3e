"""How far learned states of the two-dimensional hydrogen atom are from the exact ones."""

from typing import Any

import numpy as np
from jaxtyping import Float

from eigenax.core.batch import Function
from eigenax.lab.scores.spectrum import (
    degenerate_blocks,
    gram_matrices,
    orthogonality,
    relative_errors,
    subspace_distance,
)
from eigenax.modes import Modes
from eigenax.samples import FreshSamples


def hydrogen_scores(
    modes: Modes, energies: Float[np.ndarray, " n"], shells: Function, samples: FreshSamples
) -> dict[str, Any]:
    """Errors of the energies, the distance of each level to its exact eigenspace, and how orthogonal the states are.

    `shells` are the exact states of all levels, each level whole: 1, 3, 5, … of them.
    """
    errors = relative_errors(modes.eigenvalues, energies)
    gram, cross, own = gram_matrices(modes.at_point, shells, samples)
    distances = []
    for m, block in enumerate(degenerate_blocks(energies)):
        shell = slice(m**2, (m + 1) ** 2)
        distances.append(subspace_distance(gram[block, block], cross[shell, block], own[shell, shell]))
    return {
        "exact": energies,
        "relative_errors": errors,
        "mean_relative_error": float(errors.mean()),
        "subspace_distances": distances,
        "orthogonality": orthogonality(gram),
    }

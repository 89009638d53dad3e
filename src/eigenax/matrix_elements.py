"""Matrix elements ⟨v_i | O | v_j⟩ of functions on fresh samples, with the errors that the functions bring."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from eigenax.core.batch import Batch, Function
from eigenax.core.perturbation import Perturbed
from eigenax.core.rayleigh import second_moment
from eigenax.operators.base import Operator
from eigenax.samples import FreshSamples


class MatrixElements(NamedTuple):
    """The matrix elements ⟨v_i | O | v_j⟩ of n functions, with their standard errors."""

    values: Inexact[np.ndarray, "n n"]
    standard_errors: Float[np.ndarray, "n n"]

    @classmethod
    def of(
        cls, function: Function, operator: Operator, samples: FreshSamples, perturbed: Perturbed
    ) -> "MatrixElements":
        """The elements of the n values of a function, which may be as far from exact ones as `perturbed` tells."""
        parts = samples.map(_elements, function, operator)
        elements, overlaps, squares, rounding = (part.mean(0) for part in parts)
        scatter = parts[0].std(0, ddof=1) / np.sqrt(len(parts[0]))
        # The functions are not quite orthonormal on these points.
        off = (overlaps - np.eye(len(overlaps))) @ elements / 2
        bounds = np.abs(off + off.conj().T) + perturbed.largest_changes(elements, squares)
        return cls(elements, np.hypot(scatter, bounds + rounding))


def _elements(batch: Batch, function: Function, operator: Operator) -> tuple[Array, ...]:
    """On the points of one batch: ⟨v_i | O | v_j⟩, ⟨v_i | v_j⟩, ‖O v_j‖² and the rounding error of the first."""
    v = jax.vmap(function)(batch.x)
    ov = operator.apply(function, batch, v)
    squares = jnp.mean(batch.weights[:, None] * jnp.abs(ov) ** 2, 0)
    norms = jnp.sqrt(squares)
    rounding = jnp.finfo(v.dtype).eps * jnp.maximum(norms[:, None], norms)
    return second_moment(v, ov, batch.weights), second_moment(v, v, batch.weights), squares, rounding

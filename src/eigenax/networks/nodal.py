"""Functions that are tabulated at nodes, and elsewhere are linear combinations of other functions."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt

from eigenax.core.row_keys import words_at, words_of
from eigenax.networks.base import Network

MAX_COLLISIONS = 8
"""How many nodes may have the same first word; among 10⁶ nodes with random words, up to three have."""


class NodalValues(Network):
    """n functions of a row of features: a table of their values at nodes, which a hash of the row (two words) looks up.

    At a row that is not a node, the functions are `between(x) @ coefficients`, or NaN (unknown) if `between` is None.

    >>> table = NodalValues.of(np.array([[0.0], [4.0]]), np.array([[1.0], [-1.0]]))
    >>> jax.vmap(table)(jnp.array([[4.0], [0.0], [2.0]])).ravel()
    Array([-1.,  1., nan], dtype=float32)
    """

    words: UInt[np.ndarray, "nodes 2"]
    """The two hash words of each node, in ascending order."""
    values: Float[np.ndarray, "nodes n"]
    exact: bool = eqx.field(static=True)
    """Whether some nodes agree in float32, so that rows are compared in float64."""
    between: Any = None
    coefficients: Float[np.ndarray, "m n"] | None = None

    @classmethod
    def of(
        cls,
        rows: Float[np.ndarray, "nodes d"],
        values: Float[np.ndarray, "nodes n"],
        between: Any = None,
        coefficients: Float[np.ndarray, "m n"] | None = None,
    ) -> "NodalValues":
        """The table of `values` at `rows`, which must all be different."""
        words = words_of(rows, exact=False)
        exact = len(np.unique(words, axis=0)) < len(rows)
        words = words_of(rows, exact) if exact else words
        order = np.lexsort(words.T[::-1])
        return cls(words[order], values[order], exact, between, coefficients)

    @property
    def separate(self) -> bool:
        """Yes: nothing is trained, so nothing is shared."""
        return True

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " n"]:
        """All functions at one row."""
        words, wanted = jnp.asarray(self.words), words_at(x, self.exact)
        first = jnp.searchsorted(words[:, 0], wanted[0])
        places = jnp.minimum(first + jnp.arange(MAX_COLLISIONS), len(words) - 1)
        found = (words[places] == wanted).all(1)
        value = jnp.asarray(self.values, x.dtype)[places[jnp.argmax(found)]]
        if self.between is None:
            return jnp.where(found.any(), value, jnp.nan)
        other = jnp.matmul(
            self.between(x), jnp.asarray(self.coefficients, x.dtype), precision=jax.lax.Precision.HIGHEST
        )
        return jnp.where(found.any(), value, other)

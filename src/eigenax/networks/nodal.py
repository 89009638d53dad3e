"""Functions that are known at nodes one by one, and between them as combinations of other functions."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt

from eigenax.core.row_keys import words_at, words_of
from eigenax.networks.base import Network

ALIKE = 8
"""Nodes that may have the same first word; of 10⁶ nodes with words drawn at random, three have."""


class NodalValues(Network):
    """n functions of a row of features: a table of their values at nodes, looked up by two words made of the row.

    A row that is no node has the value of `between(x) @ coefficients`, or is not known, NaN, where nothing is between.

    >>> table = NodalValues.of(np.array([[0.0], [4.0]]), np.array([[1.0], [-1.0]]))
    >>> jax.vmap(table)(jnp.array([[4.0], [0.0], [2.0]])).ravel()
    Array([-1.,  1., nan], dtype=float32)
    """

    words: UInt[np.ndarray, "nodes 2"]
    """Of each node, in ascending order."""
    values: Float[np.ndarray, "nodes n"]
    exact: bool = eqx.field(static=True)
    """Whether nodes differ by less than float32 can tell, so that a row is compared in float64."""
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
        """Values at rows that all differ."""
        words = words_of(rows, exact=False)
        exact = len(np.unique(words, axis=0)) < len(rows)
        words = words_of(rows, exact) if exact else words
        order = np.lexsort(words.T[::-1])
        return cls(words[order], values[order], exact, between, coefficients)

    @property
    def separate(self) -> bool:
        """Nothing is shared, since nothing is trained."""
        return True

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " n"]:
        """All functions at one row."""
        words, here = jnp.asarray(self.words), words_at(x, self.exact)
        first = jnp.searchsorted(words[:, 0], here[0])
        places = jnp.minimum(first + jnp.arange(ALIKE), len(words) - 1)
        found = (words[places] == here).all(1)
        value = jnp.asarray(self.values, x.dtype)[places[jnp.argmax(found)]]
        if self.between is None:
            return jnp.where(found.any(), value, jnp.nan)
        other = jnp.matmul(
            self.between(x), jnp.asarray(self.coefficients, x.dtype), precision=jax.lax.Precision.HIGHEST
        )
        return jnp.where(found.any(), value, other)

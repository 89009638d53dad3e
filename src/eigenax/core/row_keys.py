"""Keys by which equal rows of numbers are recognised: two 32-bit words hashed from the bits of a row."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt

from eigenax.core.compiled import compiled
from eigenax.core.precision import precision_scope

PIECE = 4096
"""Rows hashed at once."""


def distinct(rows: Float[np.ndarray, "p d"]) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " p"]]:
    """Which rows are distinct: the index of the first row of each kind, and for each row the number of its kind.

    >>> distinct(np.array([[7.0], [7.0], [3.0]]))
    (array([0, 2]), array([0, 0, 1]))
    >>> len(distinct(np.array([[1e-42], [3e-42], [1.7e9], [1.7e9 + 1e-6]]))[0])
    4
    """
    words = words_of(rows, exact=True).astype(np.uint64)
    _, places, numbers = np.unique(words[:, 0] << np.uint64(32) | words[:, 1], return_index=True, return_inverse=True)
    order = np.argsort(places)
    return places[order], np.argsort(order)[numbers]


def words_of(rows: Float[np.ndarray, "p d"], exact: bool) -> UInt[np.ndarray, "p 2"]:
    """Two words of 32 bits for each row: equal for equal rows, and hardly ever for different ones; see `words_at`."""
    with precision_scope("float64"):
        pieces = [rows[start : start + PIECE] for start in range(0, len(rows), PIECE)]
        return np.concatenate([np.asarray(_words_of_piece(jnp.asarray(piece, float), exact)) for piece in pieces])


@compiled
def _words_of_piece(rows: Float[Array, "p d"], exact: bool) -> UInt[Array, "p 2"]:
    return jax.vmap(lambda x: words_at(x, exact))(rows)


def words_at(x: Float[Array, " d"], exact: bool) -> UInt[Array, " 2"]:
    """The words of one row: sums over its numbers of their scrambled bits.

    If `exact`, digits that float32 cuts off and numbers that it rounds to zero count too.
    """
    parts = _parts_of(x) if exact else [_in_float32(x)]
    numbers = jnp.concatenate([jnp.where(part == 0, 0, part) for part in parts]).astype(jnp.float32)
    bits = jax.lax.bitcast_convert_type(numbers, jnp.uint32)
    place = jnp.arange(1, len(bits) + 1, dtype=jnp.uint32) * jnp.uint32(0x9E3779B9)
    return jnp.stack(
        [_scrambled(_scrambled(bits + place) ^ jnp.uint32(salt)).sum(dtype=jnp.uint32) for salt in (1, 2**31)]
    )


def _parts_of(x: Float[Array, " d"]) -> list[Array]:
    """The exponents, and the digits in three parts that float32 can hold: exact for numbers of any size."""
    digits, exponents = jnp.frexp(x)
    parts = [exponents.astype(x.dtype)]
    for _ in range(3):
        parts.append(_in_float32(digits))
        digits = digits - parts[-1]
    return parts


def _in_float32(x: Float[Array, " d"]) -> Float[Array, " d"]:
    # A conversion to float32 and back would not do: a compiler may leave it out.
    return jax.lax.reduce_precision(x, 8, 23)


def _scrambled(bits: UInt[Array, " d"]) -> UInt[Array, " d"]:
    """The final mix of MurmurHash3: changing one bit changes about half of all bits."""
    bits = (bits ^ (bits >> 16)) * jnp.uint32(0x85EBCA6B)
    bits = (bits ^ (bits >> 13)) * jnp.uint32(0xC2B2AE35)
    return bits ^ (bits >> 16)

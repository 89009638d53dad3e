"""Products of inputs: the polynomials in a network for many dimensions.

A product is a tuple of indices of inputs in ascending order: (0, 0, 1) stands for p₂(y₀) p₁(y₁). The square of a sine
is left out, since its cosine, which is the input before it, tells it: sin² = 1 − cos².
"""

from collections import Counter
from collections.abc import Collection

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Product = tuple[int, ...]


def values_of(products: tuple[Product, ...], y: Float[Array, " m"], unbounded: int) -> Float[Array, " p"]:
    """The products of the inputs y.

    The polynomials of the first inputs, which are `unbounded`, are powers. (Those of Hermite, trained in the exponent,
    let functions grow in the tails.) Those of the others, which are cosines, sines and the like, are Chebyshev's, since
    powers of these are so alike that training could hardly tell them apart.

    >>> values_of(((0, 0), (1, 1)), jnp.array([2.0, 0.5]), unbounded=1)  # y² and 2 y² − 1
    Array([ 4. , -0.5], dtype=float32)
    """
    if not products:
        return y[:0]
    degrees = [sorted(Counter(one).items()) for one in products]
    longest, most = max(map(len, degrees)), max(degree for one in degrees for _, degree in one)
    padded = np.array([one + [(0, 0)] * (longest - len(one)) for one in degrees])
    return jnp.prod(_polynomials(y, unbounded, most)[padded[..., 0], padded[..., 1]], 1)


def _polynomials(y: Float[Array, " m"], unbounded: int, most: int) -> Float[Array, "m degrees"]:
    """The polynomials of degrees 0 … `most` of each input."""
    is_open = jnp.arange(len(y)) < unbounded
    found = [jnp.ones_like(y), y]
    for _ in range(1, most):
        found.append(jnp.where(is_open, y * found[-1], 2 * y * found[-1] - found[-2]))
    return jnp.stack(found, 1)


def powers(inputs: Collection[int], most: int, sines: Collection[int] = ()) -> list[Product]:
    """The degrees of each input; of a sine, its products with those of its cosine.

    >>> powers(range(3), most=3, sines=(2,))
    [(0, 0), (0, 0, 0), (1, 1), (1, 1, 1), (1, 2), (1, 1, 2)]
    """
    return [
        (one - 1,) * (degree - 1) + (one,) if one in sines else (one,) * degree
        for one in inputs
        for degree in range(2, most + 1)
    ]


def lowest_products(
    energies: Float[np.ndarray, " m"], count: int, most: int = 4, sines: Collection[int] = ()
) -> list[Product]:
    """Products of two to `most` inputs with the lowest sum of energies: the overtones and combinations of oscillators.

    In a harmonic potential, the product of Hermite polynomials with these degrees is an excitation of that energy.

    >>> lowest_products(np.array([1.0, 1.8]), 3)
    [(0, 0), (0, 1), (0, 0, 0)]
    """
    found: list[tuple[float, Product]] = []
    level: list[tuple[Product, float]] = [((), 0.0)]
    for degree in range(1, most + 1):
        longer = [
            ((*one, axis), energy + float(energies[axis]))
            for one, energy in level
            for axis in range(one[-1] if one else 0, len(energies))
            if not (axis in sines and axis in one)
        ]
        # Only the lowest of a degree can be part of a low product of the next degree.
        level = sorted(longer, key=lambda each: (each[1], each[0]))[: max(count, len(energies))]
        found += [(energy, one) for one, energy in level if degree > 1]
    return [one for _, one in sorted(found, key=lambda each: (each[0], len(each[1]), each[1]))[:count]]

"""Products of inputs: the polynomials in a network for many dimensions.

A product is a tuple of indices of inputs in ascending order: (0, 0, 1) stands for y₀² y₁. The square of a sine is left
out, since its cosine, which is the input before it, tells it: sin² = 1 − cos².
"""

import functools
from collections.abc import Collection

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Product = tuple[int, ...]


def values_of(products: tuple[Product, ...], y: Float[Array, " m"]) -> Float[Array, " p"]:
    """The products of the inputs y."""
    if not products:
        return y[:0]
    most = max(map(len, products))
    padded = np.array([[*one, *[len(y)] * (most - len(one))] for one in products])
    factors = jnp.append(y, jnp.ones(1, y.dtype))[padded.T]
    return functools.reduce(jnp.multiply, factors)


def powers(inputs: int, most: int, sines: Collection[int] = (), least: int = 2) -> list[Product]:
    """The powers of each input; of a sine, its products with powers of its cosine.

    >>> powers(3, most=3, sines=(2,))
    [(0, 0), (0, 0, 0), (1, 1), (1, 1, 1), (1, 2), (1, 1, 2)]
    """
    return [
        (one - 1,) * (degree - 1) + (one,) if one in sines else (one,) * degree
        for one in range(inputs)
        for degree in range(least, most + 1)
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

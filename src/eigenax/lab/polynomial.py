"""Polynomials in many variables, as functions of JAX and as lists of terms."""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Self

import jax.numpy as jnp
import numpy as np
from jax.lax import Precision
from jaxtyping import Array, Float, Int


@dataclasses.dataclass(frozen=True, eq=False)
class Polynomial:
    """Σ_t c_t ∏_i x_i^(k_ti) with coefficients c and exponents k; called at a point, it is a function of JAX.

    >>> tilted = Polynomial.of([(0.5, (0, 0)), (2.0, (0, 1, 1))], dims=2)  # x₀²/2 + 2 x₀ x₁²
    >>> float(tilted(jnp.array([1.0, 3.0])))
    18.5
    """

    coefficients: Float[np.ndarray, " terms"]
    exponents: Int[np.ndarray, "terms d"]

    @classmethod
    def of(cls, terms: Iterable[tuple[float, Sequence[int]]], dims: int) -> Self:
        """From terms (coefficient, variables), in which a variable stands as often as its power; like terms are added.

        >>> Polynomial.of([(1.0, (0, 1)), (2.0, (1, 0))], dims=2).coefficients
        array([3.])
        """
        found = list(terms)
        exponents = np.zeros((len(found), dims), int)
        for row, (_, variables) in zip(exponents, found, strict=True):
            np.add.at(row, list(variables), 1)
        return cls._collected(np.array([coefficient for coefficient, _ in found]), exponents)

    @classmethod
    def _collected(cls, coefficients: Float[np.ndarray, " many"], exponents: Int[np.ndarray, "many d"]) -> Self:
        unique, place = np.unique(exponents, axis=0, return_inverse=True)
        return cls(np.bincount(place.ravel(), coefficients, len(unique)), unique)

    @property
    def dims(self) -> int:
        """The number of variables."""
        return self.exponents.shape[1]

    def __add__(self, other: "Polynomial") -> Self:
        """The sum of two polynomials in the same variables."""
        return self._collected(
            np.concatenate([self.coefficients, other.coefficients]), np.concatenate([self.exponents, other.exponents])
        )

    def __mul__(self, other: "Polynomial") -> Self:
        """The product of two polynomials in the same variables."""
        exponents = self.exponents[:, None] + other.exponents
        return self._collected(
            np.outer(self.coefficients, other.coefficients).ravel(), exponents.reshape(-1, self.dims)
        )

    def rescaled(self, scales: Float[np.ndarray, " d"]) -> Self:
        """The polynomial whose value at y is the value of this one at x_i = scales_i y_i."""
        return dataclasses.replace(self, coefficients=self.coefficients * np.prod(scales**self.exponents, axis=1))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The value at one point: hᵀ M h, h the monomials that the terms are products of two of.

        Two small products with a matrix compile at once and are fast for many points, also when differentiated, which
        a long sum of products is not.
        """
        monomials, matrix = self._halves
        # New arrays each time: JAX would remember in which precision it saw the same ones before.
        h = jnp.prod(jnp.concatenate([jnp.ones(1, x.dtype), x])[monomials.copy()], axis=1)
        product = jnp.dot(matrix.astype(x.dtype), h, precision=Precision.HIGHEST)
        return jnp.dot(product, h, precision=Precision.HIGHEST)

    @functools.cached_property
    def _halves(self) -> tuple[Int[np.ndarray, "h half"], Float[np.ndarray, "h h"]]:
        """The variables of each monomial, counted from 1 and filled up with zeros, and M."""
        half = max(1, -(-int(self.exponents.sum(1).max()) // 2))
        places: dict[tuple[int, ...], int] = {}
        pairs = []
        for row in self.exponents:
            variables = np.repeat(np.arange(1, self.dims + 1), row).tolist()
            variables += [0] * (2 * half - len(variables))
            parts = tuple(variables[:half]), tuple(variables[half:])
            pairs.append([places.setdefault(part, len(places)) for part in parts])
        matrix = np.zeros((len(places), len(places)))
        np.add.at(matrix, tuple(np.array(pairs).T), self.coefficients)
        return np.array(list(places)), matrix

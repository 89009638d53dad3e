"""The operator: it maps functions to functions, and can be added, subtracted and scaled."""

import math
import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from eigenax.core.batch import Batch, Function, Pairs, Points
from eigenax.core.rayleigh import Moments, second_moment


class IndependentEstimates(NamedTuple):
    """Two estimates of K u whose errors are independent given the point, and the weight of each point.

    Their product estimates (K u)² without bias, whereas the square of one would add its variance to a residual norm.
    """

    first: Float[Array, "b k"]
    second: Float[Array, "b k"]
    weights: Float[Array, " b"]


class Operator(eqx.Module):
    """A symmetric linear operator K, defined by the values of K u at the points of a batch.

    Subclasses declare whether they act on `Points` or on `Pairs`, and implement `apply`. K u is never
    differentiated: the masked gradient needs only its values (see docs/mathematics.md). An operator whose
    ⟨u, K u⟩ is known but not K u is a `WeakOperator`.
    """

    acts_on: ClassVar[type[Points] | type[Pairs]] = Points
    wants_boundary: ClassVar[bool] = False
    """Whether the operator is symmetric only for functions that obey the boundary conditions of a box. Such an operator
    takes derivatives, and is local."""
    cartesian: ClassVar[bool] = False
    """Whether coordinates are taken as those of flat space, so that the operator means nothing on a curved surface."""
    fixes_constants: ClassVar[bool] = False
    """Whether the constant function is known to be an eigenfunction of eigenvalue zero."""
    local: ClassVar[bool] = False
    """Whether K u at a point depends only on u near that point. The points of a batch need not be independent then."""
    integral: ClassVar[bool] = False
    """Whether K u(x) = E[k(x, x') u(x')] with a kernel k, whose values `between` returns."""
    in_time: ClassVar[bool] = False
    """Whether its pairs are successive points of a series."""
    weak: ClassVar[bool] = False
    """Whether only `moments` are known, and K u is not."""
    complex: ClassVar[bool] = False
    """Whether K u of a real u is complex."""
    unbounded: ClassVar[int] = 0
    """−1 if the eigenvalues have no lower bound, +1 if they have no upper bound, 0 if neither is known."""
    differences: ClassVar[float | None] = None
    """The factor c if ⟨v, K v⟩ = c E[(v(x) − v(x'))²] over pairs; None for other operators."""
    __array_ufunc__ = None  # otherwise a NumPy array times an operator would be an array of operators

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("wants_boundary") is True and "local" not in cls.__dict__:
            cls.local = True

    @property
    def differential(self) -> bool:
        """Whether K takes derivatives: it is local, and either unbounded or in need of boundary conditions."""
        return self.local and (self.wants_boundary or self.unbounded != 0)

    @abstractmethod
    def apply(self, function: Function, batch: Batch, u: Inexact[Array, "b k"]) -> Inexact[Array, "b k"]:
        """K u at the points of the batch, given the function and its values u there."""

    def moments(self, function: Function, batch: Batch) -> Moments:
        """Σ = E[w u* uᵀ], Π = E[w u* (K u)ᵀ] and E[w (K u)* (K u)ᵀ] over the points of a batch."""
        u = jax.vmap(function)(batch.x)
        ku = self.apply(function, batch, u)
        return Moments(*(second_moment(a, b, batch.weights) for a, b in ((u, u), (u, ku), (ku, ku))))

    def between(self, x: Float[Array, "b ..."], y: Float[Array, "c ..."]) -> Float[Array, "b c"]:
        """The kernel k(x_i, y_j) of an integral operator at all pairs."""
        raise TypeError(f"{type(self).__name__} has no kernel")

    def independent_estimates(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> IndependentEstimates:
        """Two independent estimates of K u. If `apply` is exact at each point (local operators), both are the same."""
        ku = self.apply(function, batch, u)
        return IndependentEstimates(ku, ku, batch.weights)

    def for_shallow(self) -> "Operator":
        """The same operator, computed in the way that is fastest for many shallow functions."""
        return self

    def terms(self) -> "tuple[tuple[float, Operator], ...]":
        """Pairs of a factor and an operator, whose linear combination is this operator."""
        return ((1.0, self),)

    def singularities(self) -> tuple[tuple[float, ...], ...]:
        """Points where functions may have a cusp."""
        return ()

    def check(self, batch: Batch) -> None:
        """Check user-supplied parts on a few samples, and raise a `ValueError` that names what is wrong."""

    def __add__(self, other: "Operator") -> "Operator":
        if callable(other):
            raise TypeError("a function is not an operator: give Potential(function) in its place")
        if not isinstance(other, Operator):
            return NotImplemented
        return LinearCombination((*self.terms(), *other.terms()))

    def __mul__(self, factor: numbers.Real | float) -> "Operator":
        if not isinstance(factor, numbers.Real):
            return NotImplemented
        if not math.isfinite(factor):
            raise ValueError(f"an operator can be multiplied by a finite number; got {factor}")
        return LinearCombination(tuple((float(factor) * f, term) for f, term in self.terms()))

    def __sub__(self, other: "Operator") -> "Operator":
        return self + -other if isinstance(other, Operator) else NotImplemented

    def __truediv__(self, divisor: numbers.Real | float) -> "Operator":
        return self * (1 / float(divisor)) if isinstance(divisor, numbers.Real) else NotImplemented

    def __rmul__(self, factor: numbers.Real | float) -> "Operator":
        return self * factor

    def __neg__(self) -> "Operator":
        return self * -1.0


class WeakOperator(Operator):
    """An operator in weak form: ⟨u_i, K u_j⟩ = Π_ij is known, such as ∫ ∇u·∇u, but K u is not.

    Subclasses implement `moments`, whose third entry is None.
    """

    weak: ClassVar[bool] = True

    @abstractmethod
    def moments(self, function: Function, batch: Batch) -> Moments:
        """Σ and Π over the points of a batch, and None in place of the squares of K u."""

    def apply(self, function: Function, batch: Batch, u: Inexact[Array, "b k"]) -> Inexact[Array, "b k"]:
        """Raise a `TypeError`: a weak form has no K u."""
        raise TypeError(f"{type(self).__name__} is a weak form, and has no K u")


def _from_terms(combined: Callable[[Iterable[bool]], bool], name: str) -> Any:
    """A property that a sum has if any, or all, of its terms have it."""
    return property(lambda total: combined(getattr(term, name) for term in total.operators))


class LinearCombination(Operator):
    """A linear combination of operators, which must all act on the same kind of sample."""

    factors: tuple[float, ...] = eqx.field(static=True)
    operators: tuple[Operator, ...]
    wants_boundary: ClassVar[bool] = _from_terms(any, "wants_boundary")
    cartesian: ClassVar[bool] = _from_terms(any, "cartesian")
    fixes_constants: ClassVar[bool] = _from_terms(all, "fixes_constants")
    local: ClassVar[bool] = _from_terms(all, "local")
    integral: ClassVar[bool] = _from_terms(all, "integral")
    in_time: ClassVar[bool] = _from_terms(all, "in_time")
    weak: ClassVar[bool] = _from_terms(any, "weak")
    complex: ClassVar[bool] = _from_terms(any, "complex")

    def __init__(self, terms: tuple[tuple[float, Operator], ...]):
        self.factors = tuple(float(factor) for factor, _ in terms)
        self.operators = tuple(operator for _, operator in terms)
        if len({operator.acts_on for operator in self.operators}) > 1:
            names = " and ".join(f"{type(o).__name__} (on {o.acts_on.__name__})" for o in self.operators)
            raise TypeError(f"operators that act on different samples cannot be added: {names}")

    @property
    def acts_on(self) -> type[Points] | type[Pairs]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What every term acts on."""
        return self.operators[0].acts_on

    @property
    def unbounded(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The side on which its unbounded terms are unbounded, if they agree; 0 otherwise."""
        sides = {int(np.sign(factor * operator.unbounded)) for factor, operator in self.terms()} - {0}
        return sides.pop() if len(sides) == 1 else 0

    @property
    def differences(self) -> float | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The linear combination of the terms' factors c, if every term has one."""
        each = [operator.differences for operator in self.operators]
        known = [part for part in each if part is not None]
        return float(np.dot(self.factors, known)) if len(known) == len(each) else None

    def terms(self) -> tuple[tuple[float, Operator], ...]:
        """Pairs of a factor and an operator."""
        return tuple(zip(self.factors, self.operators, strict=True))

    def apply(self, function: Function, batch: Batch, u: Inexact[Array, "b k"]) -> Inexact[Array, "b k"]:
        """The linear combination of the terms' K u."""
        first, *rest = (factor * operator.apply(function, batch, u) for factor, operator in self.terms())
        return sum(rest, start=first)

    def moments(self, function: Function, batch: Batch) -> Moments:
        """The moments of K u or, if a term is a weak form, Σ and the linear combination of the terms' Π."""
        if not self.weak:
            return super().moments(function, batch)
        each = [operator.moments(function, batch) for operator in self.operators]
        pi = sum(factor * one.pi for factor, one in zip(self.factors, each, strict=True))
        return Moments(each[0].sigma, jnp.asarray(pi), None)

    def between(self, x: Float[Array, "b ..."], y: Float[Array, "c ..."]) -> Float[Array, "b c"]:
        """The linear combination of the terms' kernels."""
        first, *rest = (factor * operator.between(x, y) for factor, operator in self.terms())
        return sum(rest, start=first)

    def independent_estimates(self, function: Function, batch: Batch, u: Float[Array, "b k"]) -> IndependentEstimates:
        """The linear combination of the terms' estimates, at the points where all terms have them."""
        each = [operator.independent_estimates(function, batch, u) for operator in self.operators]
        first = sum(f * t.first for f, t in zip(self.factors, each, strict=True))
        second = sum(f * t.second for f, t in zip(self.factors, each, strict=True))
        return IndependentEstimates(
            jnp.asarray(first), jnp.asarray(second), jnp.stack([t.weights for t in each]).min(0)
        )

    def for_shallow(self) -> "Operator":
        """The same combination of the terms' fastest forms."""
        return LinearCombination(tuple((factor, operator.for_shallow()) for factor, operator in self.terms()))

    def singularities(self) -> tuple[tuple[float, ...], ...]:
        """Those of every term, each once."""
        return tuple(dict.fromkeys(point for operator in self.operators for point in operator.singularities()))

    def check(self, batch: Batch) -> None:
        """Check every term."""
        for operator in self.operators:
            operator.check(batch)

"""A check of an operator that somebody wrote, on the shapes of a batch."""

import jax
import jax.numpy as jnp

from eigenax.checks import traced
from eigenax.core.batch import Batch, Function
from eigenax.operators.base import Operator


def check_applies(operator: Operator, functions: Function, batch: Batch) -> None:
    """Refuse a term, by name, whose K u cannot be computed, has another shape than u, or is complex undeclared."""
    u = jax.eval_shape(jax.vmap(functions), batch.x)
    for _, term in operator.terms():
        name = type(term).__name__
        if term.weak:
            must = f"{name}.moments must return Moments of functions on a batch"
            traced(must, lambda term=term: tuple(term.moments(functions, batch)))
            continue
        must = f"{name}.apply must return K u with the shape of u, {u.shape}"
        ku = traced(must, lambda term=term: term.apply(functions, batch, jax.vmap(functions)(batch.x)))
        if getattr(ku, "shape", None) != u.shape:
            raise ValueError(f"{must}; it returned {getattr(ku, 'shape', type(ku).__name__)}")
        if jnp.issubdtype(ku.dtype, jnp.complexfloating) and not term.complex:
            raise ValueError(
                f"{must}; it returned complex numbers for real functions. Take their real part, or, where K is "
                "Hermitian, declare it in the class, complex: ClassVar[bool] = True"
            )

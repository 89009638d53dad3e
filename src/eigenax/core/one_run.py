"""Programs that run seldom or do little: compiling them usually takes a hundred times as long as running them."""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, PRNGKeyArray

P = ParamSpec("P")
R = TypeVar("R")


def for_one_run(function: Callable[P, R]) -> Callable[P, R]:
    """The function as a compiled program that a processor's compiler hardly optimises, in a fifth of the usual time.

    For what runs seldom or does little: first weights of a network, checks, looks at a few points. Inside
    another program it is a part of that one.

    >>> for_one_run(jnp.sin)(jnp.zeros(2))
    Array([0., 0.], dtype=float32)
    """
    compiled: Any = eqx.filter_jit
    usual = compiled(function)
    brief = compiled(function, compiler_options={"xla_backend_optimization_level": 0})

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        # Inside another program all new arrays are traced, whatever the arguments are.
        inside = isinstance(jnp.zeros(()), Tracer)
        if inside or any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((args, kwargs))):
            return function(*args, **kwargs)
        return (brief if jax.default_backend() == "cpu" else usual)(*args, **kwargs)

    return run


@for_one_run
def normal(key: PRNGKeyArray, spread: Float[Array, "..."]) -> Float[Array, "..."]:
    """Normally distributed numbers with these standard deviations, such as the first weights of a network."""
    return spread * jax.random.normal(key, spread.shape)

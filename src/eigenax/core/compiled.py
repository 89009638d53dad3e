"""Compiled programs: with the options of XLA that save a user the most seconds of waiting for its compilers."""

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

OPTIONS = {
    # Halves the time of compilation; programs run as fast.
    "cpu": {"xla_cpu_use_fusion_emitters": False},
    # For each product of matrices, XLA would try hundreds of kernels of Triton: 100 s for a network in 20 dimensions,
    # against 40 s with cuBLAS alone.
    "gpu": {"xla_gpu_enable_triton_gemm": False},
}
"""Options of all programs, by device."""
OF_ONE_RUN = {"cpu": {"xla_backend_optimization_level": 0}}
"""Further options of programs that run seldom or do little: a fifth of the time of compilation."""


def compiled(function: Callable[P, R], further: dict[str, dict[str, Any]] | None = None) -> Callable[P, R]:
    """`eqx.filter_jit` with the options of the device. Inside another program the function is a part of that one.

    >>> compiled(jnp.sin)(jnp.zeros(2))
    Array([0., 0.], dtype=float32)
    """

    @functools.cache
    def program(device: str) -> Any:
        wanted = OPTIONS.get(device, {}) | (further or {}).get(device, {})
        return eqx.filter_jit(function, compiler_options=_known(tuple(wanted.items())))  # pyright: ignore[reportCallIssue]

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        # Inside another program all new arrays are traced, whatever the arguments are.
        inside = isinstance(jnp.zeros(()), Tracer)
        if inside or any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((args, kwargs))):
            return function(*args, **kwargs)
        return program(jax.default_backend())(*args, **kwargs)

    return run


def for_one_run(function: Callable[P, R]) -> Callable[P, R]:
    """The function as a program that a processor's compiler hardly optimises, in a fifth of the usual time.

    For what runs seldom or does little: first weights of a network, checks, looks at a few points.
    """
    return compiled(function, OF_ONE_RUN)


@functools.cache
def _known(options: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Those of the options that this version of XLA knows."""
    known = {}
    for name, value in options:
        try:
            jax.jit(lambda: 0, compiler_options={name: value}).lower().compile()
        except Exception:  # jaxlib raises what it likes; the option only saves time
            continue
        known[name] = value
    return known


@for_one_run
def normal(key: PRNGKeyArray, spread: Float[Array, "..."]) -> Float[Array, "..."]:
    """Normally distributed numbers with these standard deviations, such as the first weights of a network."""
    return spread * jax.random.normal(key, spread.shape)

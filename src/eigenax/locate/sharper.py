"""How far values would still fall, measured by adding sharper functions where the residuals are large."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from eigenax.core.batch import Points
from eigenax.core.compiled import compiled
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.core.ritz import distance_to_exact
from eigenax.errors import SingularMomentsError
from eigenax.locate.density import DENSITY_POINTS, density_of, from_ground_state, source_around, with_others
from eigenax.locate.wave_packets import packets_around
from eigenax.measurement.basis_error import MARKED
from eigenax.measurement.ritz import ritz
from eigenax.measurement.solution import Solution
from eigenax.problem import Problem
from eigenax.samples import FreshSamples
from eigenax.sources.base import Source
from eigenax.sources.drawn import drawn

PACKETS = 256
"""Wave packets that are added."""
POINTS = 2**14
"""Points that states and further functions are measured on."""
MAX_REST = 0.5
"""If packets leave more than this share of a squared residual, they do not explain it, and errors stay."""
SURE = 3
"""A value that rises by more than this many standard errors does so by more than chance."""


def errors_measured_by_packets(problem: Problem, states: Any, found: Solution, source: Source) -> Solution:
    """The solution, with smaller errors of marked modes where wave packets have measured them.

    The estimate residual²/gap supposes that the whole residual comes from the nearest other states. At a jump or a cusp
    of V it comes from states far above, which contribute far less. If adding packets where the residual is large
    removes a share 1 − ρ of the squared residual and lowers the value by δ, all of the residual is worth δ/(1 − ρ).
    Errors stay as they are where packets explain too little, and where a value rises, as for an operator that is not
    symmetric.
    """
    distances = distance_to_exact(found.values, found.residuals, found.next_value)
    marked = np.isfinite(distances) & (distances > MARKED * np.abs(found.values))
    if found.note or not marked.any():
        return found
    try:
        better = _with_packets(problem, states, found, source, marked)
    except SingularMomentsError:
        return found
    rest = (better.residuals / found.residuals) ** 2
    fall = problem.sign * (found.values - better.values)
    scatter = np.hypot(found.sampling_errors, better.sampling_errors)
    # More functions cannot raise a value: if one rises by more than its scatter, this comparison says nothing.
    told = marked & (rest <= MAX_REST) & (fall >= -SURE * scatter).all()
    measured = (np.maximum(fall, 0) + scatter) / (1 - np.where(told, rest, 0))
    return found._replace(basis_errors=np.where(told, np.fmin(found.basis_errors, measured), found.basis_errors))


def _with_packets(
    problem: Problem, states: Any, found: Solution, source: Source, marked: Bool[np.ndarray, " n"]
) -> Solution:
    """The Rayleigh–Ritz solution in the states and in packets where the residuals of the marked ones are large."""
    p, rng, operator = problem, np.random.default_rng(problem.seed), problem.operator.for_shallow()
    assert p.domain is not None, "OnDomain has one"
    key = stream(p.seed, Stream.RESIDUALS)
    with precision_scope("float64"), full_precision():
        batch = drawn(source, key, DENSITY_POINTS, True, jnp.asarray(0))
        squared = np.asarray(_residuals_at(operator, states, found.values, batch.x, batch.weights))
        squared = np.nan_to_num(squared[:, marked], posinf=0.0) + np.finfo(float).tiny
        x, shares = np.asarray(batch.x), (squared / squared.sum(0)).mean(1)
        packets = packets_around(from_ground_state(x, shares), p.domain, PACKETS, p.seed)
    there = x[rng.choice(len(x), DENSITY_POINTS // 2, p=shares / shares.sum())]
    return solved_with_more(problem, states, packets, source, there)


def solved_with_more(
    problem: Problem, states: Any, more: Any, source: Source, there: Float[np.ndarray, "c d"]
) -> Solution:
    """The Rayleigh–Ritz solution in the states and more functions, on points of both: half of them around `there`."""
    p, density = problem, density_of(states, source, problem.seed)
    around = source_around(with_others(density, there, 0.5), p.source, p.operator.singularities())
    fresh = functools.partial(FreshSamples, around, p.seed, samples=POINTS, evenly=True, precision="float64")
    return ritz(eqx.Partial(_concatenated, states, more), p.operator.for_shallow(), fresh, p.n, p.which)


def squared_residuals(
    operator: Any, states: Any, values: Any, x: Float[Array, "b d"], weights: Float[Array, " b"]
) -> Float[Array, "b n"]:
    """The contribution of each point to ‖(K − λ) v‖² of each function."""

    def residual(x: Float[Array, "b d"]) -> Array:
        v = jax.vmap(states)(x)
        return operator.apply(states, Points(x, jnp.ones(len(x), x.dtype)), v) - jnp.asarray(values, v.dtype) * v

    parts = jax.lax.map(residual, x.reshape(len(x) // 256, 256, -1))
    return weights[:, None] * jnp.abs(parts.reshape(len(x), -1)) ** 2


_residuals_at = compiled(squared_residuals)


def _concatenated(first: Any, second: Any, x: Array) -> Array:
    """The functions of two networks at one point, one after the other."""
    return jnp.concatenate([first(x), second(x)])

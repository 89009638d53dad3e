"""Holes of the potential in a box: places below all others where none of the states found is."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.core.compiled import compiled
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.locate.diffusion_monte_carlo import explore, potential_of
from eigenax.locate.missed import EMPTY
from eigenax.modes import Modes
from eigenax.operators.base import Operator
from eigenax.problem import Problem
from eigenax.sources.markov_chains import MarkovChainPoints

POINTS = 2048
"""Points of the states that tell the typical density."""
DEEPER = 0.01
"""A hole is deeper than what lies below the states by at least this share of the lowest state's height above that."""


def with_holes(problem: Problem, modes: Modes) -> Modes:
    """The modes; if the potential has a hole where none of them is, with a note, and errors that reach down to it.

    Points are annealed all over the box. Those where the states have no density, and where V is below the lowest V of
    the others, lie in a hole: the lowest states of the operator may live there.
    """
    found = explore(problem, repeat=1)
    if found is None or not isinstance(modes.source, MarkovChainPoints):
        return modes
    x = modes.source.positions(stream(problem.seed, Stream.DENSITY))[:POINTS]
    with precision_scope("float64"), full_precision():
        at = _at(modes, problem.descending, jnp.asarray(np.concatenate([x, found.cooled])))
    (around_density, density), (around, potential) = (np.split(np.asarray(part), [POINTS]) for part in at)
    lowest = float((problem.sign * modes.eigenvalues).min())
    empty = density < around_density.mean() - EMPTY - problem.source.shape[0]
    bottom = min(around.min(), potential[~empty].min(initial=np.inf))
    hole = empty & (potential < bottom - DEEPER * max(lowest - bottom, 0))
    if not hole.any():
        return modes
    deepest = int(np.flatnonzero(hole)[potential[hole].argmin()])
    depth = float(potential[deepest])
    place = ", ".join(f"{number:.3g}" for number in found.cooled[deepest])
    note = (
        f"the potential has a hole at x = ({place}), where it is {depth:.4g}, far below these levels, and where none "
        "of these states is: the lowest states of this box live there. If you are after the others, take a smaller box"
    )
    errors = np.hypot(np.nan_to_num(modes.basis_errors), np.abs(modes.eigenvalues - problem.sign * depth))
    return dataclasses.replace(modes, basis_errors=errors, note=" ".join(filter(None, (modes.note, note))))


@compiled
def _at(modes: Modes, operator: Operator, x: Float[Array, "b d"]) -> tuple[Array, Array]:
    """The logarithm of the mean squared value of all states, and the potential."""
    v = jax.lax.map(modes.at_point, x, batch_size=256)
    return jnp.log(jnp.mean(v**2, 1) + jnp.finfo(x.dtype).tiny), potential_of(operator, x)

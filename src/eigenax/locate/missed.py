"""States that were missed: a look, from another start, at where a particle can be and none of those found is."""

import dataclasses
import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.ritz import distance_to_exact
from eigenax.errors import SingularMomentsError
from eigenax.locate.density import density_of, from_ground_state, source_around, with_others
from eigenax.locate.diffusion_monte_carlo import Explored, explore, potential_of
from eigenax.locate.sharper import together
from eigenax.locate.wave_packets import waves_around
from eigenax.measurement import Solution, ritz
from eigenax.modes import Modes, combined
from eigenax.problem import Problem
from eigenax.samples import FreshSamples
from eigenax.sources.base import Source

EMPTY = 5.0
"""How much less than typical the density of states is where there are none, in powers of e beside one for each
dimension."""
FEW, WAVES, POINTS = 8, 128, 2**14
"""Points that are too few to be a place; and the functions, and the points, that find what is in one."""
CONVERGED = 0.01
"""States further from exact ones, as a share of their values or of the range of all, may be where others are missed."""
SURE = 3
"""Stated errors that a value must be too high by."""


class Look(NamedTuple):
    """What a look around tells of some states."""

    empty: Float[np.ndarray, "c d"]
    """Points where others could be."""
    lower: Float[np.ndarray, " n"]
    """How much lower than each value that of a state in its place must be."""
    note: str
    """That in words, if any is lower."""

    def told_of(self, found: Solution) -> Solution:
        """The solution with this in its errors and its note."""
        larger = np.hypot(np.nan_to_num(found.basis_errors), self.lower)
        basis_errors = np.where(self.lower > 0, larger, found.basis_errors)
        return found._replace(basis_errors=basis_errors, note=" ".join(filter(None, (found.note, self.note))))


def look_around(
    problem: Problem, states: Any, found: Solution, source: Source, walked: Explored | None, thorough: bool = True
) -> Look:
    """What states of −D∇² + V on a box, that were found on the points of a source, do not tell of.

    Points of a walk where a particle of the highest energy can be, but no state that has converged is, are where others
    may be. If it is to be `thorough`, the best combinations of the states and of waves that live there bound the exact
    ones from above.
    """
    empty = _empty(problem, states, found, walked)
    nothing = Look(empty, np.zeros(len(found.values)), "")
    if not (thorough and len(empty)):
        return nothing
    lower = _lower(problem, states, found, source, empty)
    if not lower.any():
        return nothing
    first = int(np.argmax(lower > 0))
    near = ", ".join(f"{number:.3g}" for number in np.median(empty, 0))
    return Look(
        empty,
        lower,
        f"mode {first + 1} and those after it are not the next ones: there is a state of about "
        f"{found.values[first] - problem.sign * lower[first]:.4g} near x = ({near}), where none of them is. Stated "
        "errors tell how far off that makes them: draw points there, with a Mixture, or take more waves, "
        "RayleighRitz(n_basis=…)",
    )


def _empty(problem: Problem, states: Any, found: Solution, walked: Explored | None) -> Float[np.ndarray, "c d"]:
    """Explored points that can be reached and where no state that has converged is, if there are more than a few."""
    if walked is None:
        return np.zeros((0, *problem.source.shape))
    converged = distance_to_exact(found.values, found.residuals, found.next_value) <= CONVERGED * size_of(found)
    x = walked.everywhere
    with precision_scope("float64"), full_precision():
        density, potential = map(np.asarray, _there(states, problem.descending, jnp.asarray(x)))
    every = density.sum(1)
    # Where states are: their density averaged over itself.
    typical = (every**2).sum() / max(every.sum(), np.finfo(float).tiny)
    empty = density[:, converged].sum(1) < np.exp(-EMPTY - problem.source.shape[0]) * typical
    points = x[empty & (potential < (problem.sign * found.values).max())]
    return points if len(points) >= FEW else points[:0]


def with_what_was_missed(problem: Problem, modes: Modes) -> Modes:
    """The modes, with errors and a note that tell of lower states which are not among them."""
    found = Solution(
        modes.eigenvalues,
        modes.coefficients,
        modes.sampling_errors,
        modes.basis_errors,
        modes.residuals,
        modes.next_eigenvalue,
        modes.note,
    )
    states = combined(modes.network, modes.coefficients)
    told = look_around(problem, states, found, problem.source, explore(problem, repeat=1)).told_of(found)
    return dataclasses.replace(modes, basis_errors=told.basis_errors, note=told.note)


@eqx.filter_jit
def _there(states: Any, operator: Any, x: Array) -> tuple[Array, Array]:
    """The density of each state at points, and the potential."""
    return jnp.abs(jax.lax.map(states, x, batch_size=512)) ** 2, potential_of(operator, x)


def size_of(found: Solution) -> Float[np.ndarray, " n"]:
    """What errors are compared with: the value, or the range of all and the next one, whichever is larger."""
    beyond = [] if found.next_value is None else [found.next_value]
    return np.maximum(np.abs(found.values), np.ptp([*found.values, *beyond]))


def _lower(
    problem: Problem, states: Any, found: Solution, source: Source, points: Float[np.ndarray, "c d"]
) -> Float[np.ndarray, " n"]:
    """How much lower the best combinations of the states and of waves around these points are; zero within errors."""
    p, singularities = problem, problem.operator.singularities()
    density = with_others(density_of(states, source, p.seed), points, 0.5)
    source = source_around(density, p.source, singularities)
    there = from_ground_state(points, np.ones(len(points)))
    assert p.domain is not None, "explore"
    with precision_scope("float64"):
        waves = waves_around(there, p.domain, singularities, p.n, WAVES, p.seed)
    fresh = functools.partial(FreshSamples, source, p.seed, samples=POINTS, evenly=True, precision="float64")
    try:
        better = ritz(eqx.Partial(together, states, waves), p.operator.for_shallow(), fresh, p.n, p.which)
    except SingularMomentsError:
        return np.zeros(p.n)
    return np.where(is_lower(p.sign, better, found), p.sign * (found.values - better.values), 0)


def is_lower(sign: float, first: Solution, second: Solution) -> Bool[np.ndarray, " n"]:
    """Which values of one solution are lower than those of another, by more than errors tell.

    What is found in a finite basis bounds the exact value from above, but for the points it was measured on: the basis
    error of the lower one would only take it further down.
    """
    errors = np.sqrt(first.sampling_errors**2 + second.sampling_errors**2 + np.nan_to_num(second.basis_errors) ** 2)
    return sign * (second.values - first.values) > SURE * errors

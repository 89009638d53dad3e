"""States that were missed: a search of the places that a particle can reach but where no state found is."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from eigenax.core.compiled import compiled
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.ritz import distance_to_exact
from eigenax.errors import SingularMomentsError
from eigenax.locate.density import from_ground_state
from eigenax.locate.diffusion_monte_carlo import Explored, explore, potential_of
from eigenax.locate.sharper import solved_with_more
from eigenax.locate.wave_packets import waves_around
from eigenax.measurement.solution import Solution
from eigenax.modes import Modes
from eigenax.networks.combined import combined
from eigenax.problem import Problem
from eigenax.sources.base import Source

EMPTY = 5.0
"""A point of d dimensions is empty if the density of the states there is below exp(−EMPTY − d) of the typical one."""
LEAST_POINTS = 8
"""Fewer empty points than this are no place where states may be."""
WAVES = 128
"""Functions that look for states at the empty points."""
CONVERGED = 0.01
"""A state counts as converged if its distance from an exact one is at most this share of its `size_of`."""
SURE = 3
"""A value is lower than another if it is so by more than this many of their errors."""


class Look(NamedTuple):
    """What a search for missed states has found."""

    empty: Float[np.ndarray, "c d"]
    """Points where other states could be."""
    lower: Float[np.ndarray, " n"]
    """By how much each value is at least too high, since a lower state was missed; zero where none was."""
    note: str
    """The same in words, if any state was missed."""

    def added_to(self, found: Solution) -> Solution:
        """The solution with what was missed added to its basis errors and its note."""
        larger = np.hypot(np.nan_to_num(found.basis_errors), self.lower)
        basis_errors = np.where(self.lower > 0, larger, found.basis_errors)
        return found._replace(basis_errors=basis_errors, note=" ".join(filter(None, (found.note, self.note))))


def look_around(
    problem: Problem, states: Any, found: Solution, source: Source, walked: Explored | None, thorough: bool = True
) -> Look:
    """Search for states of −D∇² + V on a box that are missing among those found on the points of a source.

    Empty points are explored points that a particle of the highest energy found can reach, and where no converged
    state has any density. If `thorough`, the Rayleigh–Ritz problem in the states together with waves
    around these points is solved: its values, upper bounds of the exact ones, show whether a lower state was missed.
    """
    empty = _empty_points(problem, states, found, walked)
    nothing_missed = Look(empty, np.zeros(len(found.values)), "")
    if not (thorough and len(empty)):
        return nothing_missed
    lower = _too_high_by(problem, states, found, source, empty)
    if not lower.any():
        return nothing_missed
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


def _empty_points(problem: Problem, states: Any, found: Solution, walked: Explored | None) -> Float[np.ndarray, "c d"]:
    """Explored points with V below the highest value and without any converged state; none if they are too few."""
    if walked is None:
        return np.zeros((0, *problem.source.shape))
    converged = distance_to_exact(found.values, found.residuals, found.next_value) <= CONVERGED * size_of(found)
    x = walked.everywhere
    with precision_scope("float64"), full_precision():
        density, potential = map(np.asarray, _densities_and_potential(states, problem.descending, jnp.asarray(x)))
    every = density.sum(1)
    # The typical density: its mean weighted by itself.
    typical = (every**2).sum() / max(every.sum(), np.finfo(float).tiny)
    empty = density[:, converged].sum(1) < np.exp(-EMPTY - problem.source.shape[0]) * typical
    points = x[empty & (potential < (problem.sign * found.values).max())]
    return points if len(points) >= LEAST_POINTS else points[:0]


def with_what_was_missed(problem: Problem, modes: Modes) -> Modes:
    """The modes; if lower states are not among them, with larger errors and a note that say so."""
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
    corrected = look_around(problem, states, found, problem.source, explore(problem, repeat=1)).added_to(found)
    return dataclasses.replace(modes, basis_errors=corrected.basis_errors, note=corrected.note)


@compiled
def _densities_and_potential(states: Any, operator: Any, x: Array) -> tuple[Array, Array]:
    """The density of each state at points, and the potential."""
    return jnp.abs(jax.lax.map(states, x, batch_size=512)) ** 2, potential_of(operator, x)


def size_of(found: Solution) -> Float[np.ndarray, " n"]:
    """The scale that errors are compared with: |value| or the range of all values and the next, whichever is larger."""
    beyond = [] if found.next_value is None else [found.next_value]
    return np.maximum(np.abs(found.values), np.ptp([*found.values, *beyond]))


def _too_high_by(
    problem: Problem, states: Any, found: Solution, source: Source, points: Float[np.ndarray, "c d"]
) -> Float[np.ndarray, " n"]:
    """How much lower values become if waves around these points are added to the states; zero within errors."""
    p, there = problem, from_ground_state(points, np.ones(len(points)))
    assert p.domain is not None, "explore found points, which it does on a domain only"
    with precision_scope("float64"):
        waves = waves_around(there, p.domain, p.operator.singularities(), p.n, WAVES, p.seed)
    try:
        better = solved_with_more(problem, states, waves, source, points)
    except SingularMomentsError:
        return np.zeros(p.n)
    return np.where(is_lower(p.sign, better, found), p.sign * (found.values - better.values), 0)


def is_lower(sign: float, first: Solution, second: Solution) -> Bool[np.ndarray, " n"]:
    """Which values of the first solution are lower than those of the second by more than their errors.

    The first one's basis errors do not count: a value found in a finite basis is an upper bound, up to sampling errors,
    so its basis error could only bring it further down.
    """
    errors = np.sqrt(first.sampling_errors**2 + second.sampling_errors**2 + np.nan_to_num(second.basis_errors) ** 2)
    return sign * (second.values - first.values) > SURE * errors

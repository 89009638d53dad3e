"""Differential operators on a domain: random waves where the states are, which diffusion and then each basis tells."""

import functools
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.sizes import Sizes
from eigenax.core.batch import effective_share
from eigenax.core.precision import precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.locate.density import (
    DENSITY_POINTS,
    DensityEstimate,
    anywhere_in,
    density_of,
    from_ground_state,
    source_around,
    with_others,
    without_padding,
)
from eigenax.locate.diffusion_monte_carlo import Explored, explore
from eigenax.locate.missed import CONVERGED, is_lower, look_around, size_of
from eigenax.locate.sharper import judged_by_sharper
from eigenax.locate.wave_packets import waves_around
from eigenax.measurement import Solution, ritz, signs
from eigenax.modes import combined
from eigenax.networks.waves import Waves
from eigenax.problem import Problem
from eigenax.samples import FreshSamples
from eigenax.sources.base import Source
from eigenax.stop_reason import StopReason

WAVES, MOST, REFINEMENTS = 256, 1024, 3
"""Waves of the first basis and of the last, and how many bases there are, unless others are asked for."""
FEW = 128
"""Waves of the first two bases where a `tol` says when to end."""
FIRST_SHARE, SHARE = 1 / 3, 1 / 4
"""Of the functions that are where states may be but are not known to be, at first and later."""
FALL = 0.8
"""Errors that are not down to this much of what they were have not fallen."""


class OnDomain(Discretisation):
    """Ever more random waves on points of a domain, both drawn where the states of the basis before are."""

    has_use_for: ClassVar[frozenset[str]] = frozenset({"n_basis", "max_basis", "samples"})
    # Errors have errors of a third or so, and a basis around better states is rather better.
    slack: ClassVar[float] = 1.5

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        self.sizes, self.first = sizes, WAVES if problem.tol is None else FEW
        # Programs for the second basis are there already, and it is the first one that is where the states are.
        self.alike = int(problem.tol is not None and sizes.n_basis is None)
        usual = REFINEMENTS if problem.tol is None else self.alike + len(sizes.counts(problem.n, self.first, MOST))
        self.problem, self.count = problem, problem.max_steps or usual

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes a differential operator and points of a domain."""
        operator = problem.operator
        known = problem.domain is not None and operator.differential
        return None if known else "a differential operator on a Box, a Mixture or a Surface"

    @classmethod
    def check(cls, problem: Problem) -> None:
        """Points of a domain are as many as functions want."""
        problem.look()

    def first_guess(self) -> DensityEstimate:
        """Where diffusion finds the ground state, and where others may be."""
        return first_density(self.problem.source, self._first_walk, self._rows)

    @property
    def _rows(self) -> int:
        """Of points in a guess where others may be, the same for each basis."""
        return len(self._first_walk.everywhere) if self._first_walk else 0

    def _explored(self, number: int) -> Explored | None:
        """What the walk for a basis has found, each of which has its own; that for the first one also begins it."""
        return self._first_walk if number == 0 else explore(self.problem, number)

    @functools.cached_property
    def _first_walk(self) -> Explored | None:
        return explore(self.problem)

    def trial(self, number: int, guess: DensityEstimate) -> Trial:
        """One Rayleigh–Ritz solution; the smaller its errors, by its own account, the better."""
        p, guess = self.problem, without_padding(DensityEstimate(*guess))
        singularities, size = p.operator.singularities(), self._size(number)
        source = source_around(guess, p.source, singularities)
        assert p.domain is not None, "asked for before"
        with precision_scope("float64"):
            waves = waves_around(guess, p.domain, singularities, p.n, size, p.seed)
            share = float(_effective(source, stream(p.seed, Stream.EFFECTIVE_SAMPLES)))
        found = ritz(waves, p.operator.for_shallow(), self._fresh(source, size), p.n, p.which, nested=True)
        # Another basis will do better, and has functions where states may have been missed, unless this is the last.
        stated = np.hypot(found.sampling_errors, found.basis_errors)
        settled = bool((stated <= (p.tol or CONVERGED) * size_of(found)).all()) or number + 1 == self.count
        states = combined(waves, found.coefficients)
        if settled:
            found = judged_by_sharper(p, states, found, source)
        look = look_around(p, states, found, source, self._explored(number), thorough=settled)
        told = look.told_of(found).metrics() | {"waves": size, "effective_samples": share}
        # Without what was missed, or a basis that nobody has looked around in would seem better.
        return Trial(number, (waves, source, look), float(stated.sum()), told, found)

    def solution(self, trial: Trial) -> Solution:
        """With errors that have what was missed in them."""
        return trial.basis[2].told_of(super().solution(trial))

    def _size(self, number: int) -> int:
        return self.sizes.size(max(number - self.alike, 0), self.problem.n, self.first, MOST)

    def _fresh(self, source: Source, size: int) -> Any:
        samples = self.sizes.points(size)
        return functools.partial(
            FreshSamples, source, self.problem.seed, samples=samples, evenly=True, precision="float64"
        )

    def next_guess(self, trial: Trial) -> DensityEstimate:
        """Where the states of this basis are, and where others could be."""
        waves, source, look = trial.basis
        density = density_of(combined(waves, self.solution(trial).coefficients), source, self.problem.seed)
        return with_others(density, look.empty, SHARE, self._rows)

    def overrules(self, trial: Trial, best: Trial) -> bool:
        """Where it has lower states, by more than the errors of both: the other one has missed some."""
        if trial.solution is None or best.solution is None:
            return False
        return bool(is_lower(self.problem.sign, trial.solution, best.solution).any())

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Where errors no longer fall, with as many functions as before: more of them deserve another trial.

        So do the first ones that are where the states are, which the second basis has.
        """
        number = trial.number
        if self.problem.tol is not None or number < 2 or self._size(number) > self._size(number - 1):
            return None
        return StopReason.STALLED if trial.score > FALL * scores[number - 1] else None

    def network(self, trial: Trial) -> Waves:
        """The waves."""
        return trial.basis[0]

    def measured_on(self, trial: Trial) -> Source:
        """Where the points of this trial were drawn."""
        return trial.basis[1]

    def signs(self, trial: Trial, solution: Solution) -> Inexact[np.ndarray, " n"]:
        """From other points."""
        waves, source, _ = trial.basis
        fresh = self._fresh(source, self._size(trial.number))
        return signs(combined(waves, solution.coefficients), fresh(purpose=Stream.SIGNS))


def first_density(source: Source, found: Explored | None, rows: int | None = None) -> DensityEstimate:
    """Where a walk found the ground state of −D∇² + V on a box, and others may be, in so many rows; for other problems,
    everywhere."""
    if found is None:
        with precision_scope("float64"):
            return anywhere_in(source)
    return with_others(from_ground_state(found.points, found.descendants), found.elsewhere, FIRST_SHARE, rows)


@eqx.filter_jit
def _effective(source: Source, key: PRNGKeyArray) -> Float[Array, ""]:
    """The share of equally weighted points that the points of a source are worth."""
    return effective_share(source.sample(key, DENSITY_POINTS).weights)

"""Differential operators on a domain: random waves where the states are, as walkers and then each basis find them."""

import functools
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from eigenax.bases.base import Discretisation, Trial
from eigenax.bases.sizes import Sizes
from eigenax.core.batch import effective_share
from eigenax.core.compiled import for_one_run
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
from eigenax.locate.sharper import errors_measured_by_packets
from eigenax.locate.wave_packets import waves_around
from eigenax.measurement.on_samples import signs
from eigenax.measurement.ritz import ritz
from eigenax.measurement.solution import Solution
from eigenax.networks.combined import combined
from eigenax.networks.waves import Waves
from eigenax.problem import Problem
from eigenax.samples import FreshSamples
from eigenax.sources.base import Source
from eigenax.stop_reason import StopReason

WAVES = 256
"""Waves of the first basis, unless a number is asked for."""
MOST = 1024
"""Waves of the largest basis, unless a number is asked for."""
REFINEMENTS = 3
"""The number of bases without a `tol`."""
FEW = 128
"""Waves of the first two bases with a `tol`: more bases follow if it is not reached."""
FIRST_SHARE = 1 / 3
"""The share of the first density estimate at points where states may be but are not known to be."""
SHARE = 1 / 4
"""The same for later estimates."""
FALL = 0.8
"""Errors have stalled if they are more than this share of those of the basis before."""


class OnDomain(Discretisation):
    """Random waves on a domain and points to measure them on, both drawn where the states of the last basis are."""

    has_use_for: ClassVar[frozenset[str]] = frozenset({"n_basis", "max_basis", "samples"})
    # Errors are estimates, good to a third or so, and a later basis, drawn around better states, tends to be better.
    slack: ClassVar[float] = 1.5

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        self.sizes, self.first = sizes, WAVES if problem.tol is None else FEW
        # With a tol the second basis has the size of the first: it needs no new compiled programs, and it is the first
        # to be drawn where states are known to be.
        self.repeated = int(problem.tol is not None and sizes.n_basis is None)
        usual = REFINEMENTS if problem.tol is None else self.repeated + len(sizes.counts(problem.n, self.first, MOST))
        self.problem, self.count = problem, problem.max_steps or usual

    @classmethod
    def why_not(cls, problem: Problem) -> str | None:
        """It takes a differential operator and points of a domain."""
        operator = problem.operator
        known = problem.domain is not None and operator.differential
        return None if known else "a differential operator on a Box, a Mixture or a Surface"

    @classmethod
    def check(cls, problem: Problem) -> None:
        """Evaluate the operator on a few points; a domain never has too few of them."""
        problem.look()

    def first_guess(self) -> DensityEstimate:
        """Where walkers find the ground state, and where others may be."""
        return first_density(self.problem.source, self._first_walk, self._rows)

    @property
    def _rows(self) -> int:
        """The number of rows in a guess for points where other states may be: the same for each basis."""
        return len(self._first_walk.everywhere) if self._first_walk else 0

    def _explored(self, number: int) -> Explored | None:
        """What walkers find: each basis is checked by a walk of its own; that of the first gives the first guess."""
        return self._first_walk if number == 0 else explore(self.problem, number)

    @functools.cached_property
    def _first_walk(self) -> Explored | None:
        return explore(self.problem)

    def trial(self, number: int, guess: DensityEstimate) -> Trial:
        """One Rayleigh–Ritz solution, scored by the sum of its stated errors."""
        p, guess = self.problem, without_padding(DensityEstimate(*guess))
        singularities, size = p.operator.singularities(), self._size(number)
        source = source_around(guess, p.source, singularities)
        assert p.domain is not None, "why_not has checked this"
        with precision_scope("float64"):
            waves = waves_around(guess, p.domain, singularities, p.n, size, p.seed)
            share = float(_effective_share(source, stream(p.seed, Stream.EFFECTIVE_SAMPLES)))
        found = ritz(waves, p.operator.for_shallow(), self._fresh(source, size), p.n, p.which, nested=True)
        # Only what may be the last basis is checked thoroughly: the next one gets functions at empty places anyway.
        stated = np.hypot(found.sampling_errors, found.basis_errors)
        settled = bool((stated <= (p.tol or CONVERGED) * size_of(found)).all()) or number + 1 == self.count
        states = combined(waves, found.coefficients)
        if settled:
            found = errors_measured_by_packets(p, states, found, source)
        look = look_around(p, states, found, source, self._explored(number), thorough=settled)
        metrics = look.added_to(found).metrics() | {"waves": size, "effective_samples": share}
        # The score leaves out what was missed: otherwise bases that were not checked thoroughly would seem better.
        return Trial(number, (waves, source, look), float(stated.sum()), metrics, found)

    def solution(self, trial: Trial) -> Solution:
        """The solution with what was missed in its errors and note."""
        return trial.basis[2].added_to(super().solution(trial))

    def _size(self, number: int) -> int:
        return self.sizes.size(max(number - self.repeated, 0), self.problem.n, self.first, MOST)

    def _fresh(self, source: Source, size: int) -> Any:
        samples = self.sizes.points(size)
        return functools.partial(
            FreshSamples, source, self.problem.seed, samples=samples, evenly=True, precision="float64"
        )

    def next_guess(self, trial: Trial) -> DensityEstimate:
        """The density of the states found in this basis, and points where others could be."""
        waves, source, look = trial.basis
        density = density_of(combined(waves, self.solution(trial).coefficients), source, self.problem.seed)
        return with_others(density, look.empty, SHARE, self._rows)

    def overrules(self, trial: Trial, best: Trial) -> bool:
        """Whether a value is lower than the best trial's by more than their errors: the best one has missed a state."""
        if trial.solution is None or best.solution is None:
            return False
        return bool(is_lower(self.problem.sign, trial.solution, best.solution).any())

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """STALLED if, without a `tol`, errors no longer fall and the basis is as large as the one before.

        A larger basis is always tried, and so is the third: the first one was not drawn around known states.
        """
        number = trial.number
        if self.problem.tol is not None or number < 2 or self._size(number) > self._size(number - 1):
            return None
        return StopReason.STALLED if trial.score > FALL * scores[number - 1] else None

    def network(self, trial: Trial) -> Waves:
        """The random waves."""
        return trial.basis[0]

    def measured_on(self, trial: Trial) -> Source:
        """The source that this trial drew points from."""
        return trial.basis[1]

    def signs(self, trial: Trial, solution: Solution) -> Inexact[np.ndarray, " n"]:
        """Signs from fresh points."""
        waves, source, _ = trial.basis
        fresh = self._fresh(source, self._size(trial.number))
        return signs(combined(waves, solution.coefficients), fresh(purpose=Stream.SIGNS))


def first_density(source: Source, found: Explored | None, rows: int | None = None) -> DensityEstimate:
    """The estimate from what walkers found: the ground state, and points where others may be, in `rows` rows.

    If there was no walk, the density of the source.
    """
    if found is None:
        with precision_scope("float64"):
            return anywhere_in(source)
    return with_others(from_ground_state(found.points, found.descendants), found.elsewhere, FIRST_SHARE, rows)


@for_one_run
def _effective_share(source: Source, key: PRNGKeyArray) -> Float[Array, ""]:
    """The effective sample size of a source's weighted points, as a share of their number."""
    return effective_share(source.sample(key, DENSITY_POINTS).weights)

"""Differential operators on a domain: random waves where the states are, which diffusion and then each basis tells."""

import functools
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from eigenax.core.batch import effective_share
from eigenax.core.precision import counting_in, full_precision
from eigenax.galerkin.base import Discretisation, Trial
from eigenax.galerkin.cloud import CLOUD, Cloud, everywhere, flat_box, of_ground_state, source_around, waves_around
from eigenax.galerkin.sizes import Sizes
from eigenax.galerkin.walkers import can_walk, walk
from eigenax.measurement import Solution, ritz, signs
from eigenax.modes import combined
from eigenax.networks.waves import Waves
from eigenax.problem import Problem
from eigenax.samples import FreshSamples
from eigenax.sources.base import Source
from eigenax.stop_reason import StopReason

WAVES, MOST, REFINEMENTS = 256, 1024, 3
"""Waves of the first basis and of the last, and how many bases there are, unless others are asked for."""
FEW = 64
"""Waves of the first basis where a `tol` says when to end."""
FALL = 0.8
"""Errors that are not down to this much of what they were have not fallen."""


class OnDomain(Discretisation):
    """Ever more random waves on points of a domain, both drawn where the states of the basis before are."""

    has_use_for: ClassVar[frozenset[str]] = frozenset({"n_basis", "max_basis", "samples"})
    # Errors have errors, and a basis around better states is rather better.
    slack: ClassVar[float] = 1 / FALL

    def __init__(self, problem: Problem, basis: Any, sizes: Sizes):
        self.sizes, self.first = sizes, WAVES if problem.tol is None else FEW
        usual = REFINEMENTS if problem.tol is None else len(sizes.counts(problem.n, self.first, MOST))
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

    def first_guess(self) -> Cloud:
        """Where diffusion finds the ground state."""
        return first_cloud(self.problem)

    def trial(self, number: int, guess: Cloud) -> Trial:
        """One Rayleigh–Ritz solution; the smaller its errors, by its own account, the better."""
        p, guess = self.problem, Cloud(*guess)
        singularities, size = p.operator.singularities(), self._size(number)
        source = source_around(guess, p.source, singularities)
        assert p.domain is not None, "asked for before"
        with counting_in("float64"):
            waves = waves_around(guess, p.domain, singularities, p.n, size, p.seed)
            share = float(_effective(source, jax.random.key(p.seed)))
        found = ritz(waves, p.operator.for_shallow(), self._fresh(source, size), p.n, p.which, nested=True)
        told = found.told() | {"waves": size, "effective_samples": share}
        stated = np.hypot(found.sampling_errors, found.basis_errors)
        return Trial(number, (waves, source), float(stated.sum()), told, found)

    def _size(self, number: int) -> int:
        return self.sizes.size(number, self.problem.n, self.first, MOST)

    def _fresh(self, source: Source, size: int) -> Any:
        samples = self.sizes.points(size)
        return functools.partial(
            FreshSamples, source, self.problem.seed, samples=samples, evenly=True, precision="float64"
        )

    def next_guess(self, trial: Trial) -> Cloud:
        """Where the states of this basis are."""
        waves, source = trial.basis
        return _cloud_of(combined(waves, self.solution(trial).coefficients), source, self.problem.seed)

    def why_stop(self, trial: Trial, best: Trial, scores: Float[np.ndarray, " count"]) -> StopReason | None:
        """Where errors no longer fall, with as many functions as before: more of them deserve another trial."""
        number = trial.number
        if self.problem.tol is not None or number == 0 or self._size(number) > self._size(number - 1):
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
        waves, source = trial.basis
        fresh = self._fresh(source, self._size(trial.number))
        return signs(combined(waves, solution.coefficients), fresh(purpose=4))


def first_cloud(problem: Problem) -> Cloud:
    """Where diffusion finds the ground state of −D∇² + V on a box; other states could be anywhere."""
    box = None if problem.domain is None else flat_box(problem.domain)
    if box is None or not can_walk(problem.descending, box):
        with counting_in("float64"):
            return everywhere(problem.source)
    key = jax.random.fold_in(jax.random.key(problem.seed), 5)
    return of_ground_state(*walk(problem.descending, box, key, CLOUD))


def _cloud_of(functions: Any, source: Source, seed: int) -> Cloud:
    """Points with the probabilities of the ground state and of all states, and how fast these change there."""

    with counting_in("float64"), full_precision():
        drawn = _densities(functions, source, jax.random.fold_in(jax.random.key(seed), 6))
    x, v, slopes, weights = map(np.asarray, drawn)
    weights = weights[:, None]
    each = weights * np.abs(v) ** 2
    totals = each.sum(0)
    shares = each / totals
    return Cloud(x, shares[:, 0], shares.mean(1), weights[:, :, None] * slopes / totals.sum())


@eqx.filter_jit
def _effective(source: Source, key: PRNGKeyArray) -> Float[Array, ""]:
    """The share of equally weighted points that the points of a source are worth."""
    return effective_share(source.sample(key, CLOUD).weights)


@eqx.filter_jit
def _densities(functions: Any, source: Source, key: PRNGKeyArray) -> tuple[Array, Array, Array, Array]:
    """Points x, the values of functions there, ∇v* ∇vᵀ added up over them, and the weights of the points."""

    def at_point(x: Array) -> tuple[Array, Array]:
        slopes = jax.jacfwd(functions)(x)
        return functions(x), (slopes.conj().T @ slopes).real

    batch = source.spread(key, CLOUD)
    return batch.x, *jax.lax.map(at_point, batch.x, batch_size=256), batch.weights

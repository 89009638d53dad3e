"""Why functions have not converged: one sentence from their residuals and the potential."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from eigenax.core.batch import Batch
from eigenax.core.compiled import compiled
from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.domains.box import Box
from eigenax.locate.diffusion_monte_carlo import potential_of
from eigenax.locate.sharper import squared_residuals
from eigenax.modes import Modes
from eigenax.networks.combined import combined
from eigenax.problem import Problem
from eigenax.sources.drawn import drawn

Point = Float[np.ndarray, " d"]
POINTS = 4096
"""Points at which residuals and the potential are evaluated."""
SEARCH_STARTS = 24
"""Points with the largest residuals, and as many with the most extreme potential, that searches start from."""
TRIAL_POINTS = 64
"""Points that each step of a search tries around its present point."""
SEARCH_STEPS = 24
"""Steps of a search; each tries points half as far away as the step before."""
SAME_PLACE = 1e-3
"""Points that differ by less than this share of the box along every axis count as one."""
DIVERGING = 0.3
"""|V| grows without bound if the last third of a search gains more than this share of what the middle third gained."""
MOST_POINTS = 4
"""More singular points than this are taken for a line or a surface of singularities."""
ZOOMS = 4
"""How often the search for a jump zooms in on one cell of a line."""
LINE_CELLS = 64
"""Cells that a line is divided into each time."""
SIGNIFICANT = 1e-3
"""Changes of the potential below this share of its size may be rounding."""


def with_likely_cause(problem: Problem, modes: Modes, doubted: Bool[np.ndarray, " n"], otherwise: str) -> Modes:
    """The modes, with a note on the likely cause of large errors if some modes are doubted and none is noted yet.

    The cause is a singularity or a jump of the potential, if one is found; if not, the note is `otherwise`.
    """
    if modes.note or not doubted.any():
        return modes
    return dataclasses.replace(modes, note=_cause_in_potential(problem, modes, doubted) or otherwise)


def _cause_in_potential(problem: Problem, modes: Modes, doubted: Bool[np.ndarray, " n"]) -> str:
    """A sentence about a singularity or a jump of the potential; empty if none is found, or V is not defined here."""
    operator, domain = problem.operator, problem.domain
    if domain is None or domain.flat is None or not operator.differential or operator.weak or operator.complex:
        return ""
    with precision_scope("float64"), full_precision():
        return _singularity_or_jump(problem, modes, doubted, domain.flat)


def _singularity_or_jump(problem: Problem, modes: Modes, doubted: Bool[np.ndarray, " n"], box: Box) -> str:
    """Search from where the residuals are largest and, for singularities, from where the potential is most extreme."""
    states = combined(modes.network, modes.coefficients)
    key = stream(problem.seed, Stream.CAUSE)
    batch = drawn(modes.source or problem.source, key, POINTS, True, jnp.asarray(0))
    evaluated = _residuals_and_potential(problem.operator, states, modes.eigenvalues, batch)
    x, squared, potential = (np.asarray(part, np.float64) for part in (batch.x, *evaluated))
    share = np.nan_to_num((squared / np.maximum(squared.sum(0), np.finfo(float).tiny))[:, doubted].sum(1))
    rng = np.random.default_rng(problem.seed)

    def potential_at(points: Float[np.ndarray, "c d"]) -> Float[np.ndarray, " c"]:
        return np.asarray(_potential(problem.operator, jnp.asarray(points)), np.float64)

    worst = x[np.argsort(-share)[:SEARCH_STARTS]]
    highest = x[np.argsort(-np.abs(potential - np.median(potential)))[:SEARCH_STARTS]]
    declared = np.array(problem.operator.singularities()).reshape(-1, x.shape[1])
    found = [
        one
        for one in singular_points(potential_at, np.concatenate([worst, highest]), box, rng)
        if not _is_among(one, declared, box)
    ]
    if found:
        right = [p for p in declared if _is_among(p, np.array(singular_points(potential_at, p[None], box, rng)), box)]
        return _singularity_note(found, right, [p for p in declared if not _is_among(p, np.array(right), box)])
    jump = largest_jump(potential_at, worst, box, rng)
    if jump is not None:
        where, by = jump
        return (
            f"the potential jumps by {by:.3g} near x = {_formatted(where)}, where the second derivatives of exact "
            "eigenfunctions jump too; smooth basis functions only approach that: trust the stated errors, or make the "
            "step as wide as your problem allows"
        )
    return ""


def _singularity_note(found: list[Point], right: list[Point], wrong: list[Point]) -> str:
    """The note on singularities that were not declared, given the declared points where V is singular and is not."""
    where = f"the potential has no finite limit at x = {', '.join(map(_formatted, found[:MOST_POINTS]))}"
    if len(found) > MOST_POINTS:
        return f"{where} and elsewhere, not at single points: take coordinates in which it is finite, if there are any"
    lost = f", but it has one at the declared {', '.join(map(_formatted, wrong))}" if wrong else ""
    return (
        f"{where}{lost}: eigenfunctions have cusps there, and cusps are put at declared points only. Take Potential(V, "
        f"singularities=[{', '.join(map(_formatted, [*right, *found]))}])"
    )


def singular_points(
    potential_at: Callable[[Any], Any], starts: Float[np.ndarray, "s d"], box: Box, rng: np.random.Generator
) -> list[Point]:
    """Points near the `starts` where |V| grows without bound, each listed once.

    From each start a search moves to the largest |V| among random points around it, at half the distance in each step.
    Near a finite maximum the gains shrink; at a singularity they stay the same or grow.
    """
    low, high = np.asarray(box.low), np.asarray(box.high)
    here, values = starts, np.abs(potential_at(starts))
    reached = [values]
    for step in range(SEARCH_STEPS):
        width = 0.1 * (high - low) * 0.5**step
        around = here[:, None] + width * rng.normal(size=(len(here), TRIAL_POINTS, here.shape[1]))
        around = np.clip(np.concatenate([around, here[:, None]], 1), low, high)
        tried = np.abs(potential_at(around.reshape(-1, here.shape[1]))).reshape(len(here), -1)
        best = np.where(np.isfinite(tried), tried, np.inf).argmax(1)
        here, values = around[np.arange(len(here)), best], tried[np.arange(len(here)), best]
        reached.append(values)
    third = SEARCH_STEPS // 3
    first, second, last = (reached[k] for k in (third, 2 * third, 3 * third))
    with np.errstate(invalid="ignore"):
        diverging = ~np.isfinite(last) | (
            last - second > np.maximum(DIVERGING * (second - first), SIGNIFICANT * np.abs(second))
        )
    places: list[Point] = []
    for point in here[diverging]:
        if not _is_among(point, np.array(places).reshape(-1, len(point)), box):
            places.append(point)
    return places


def largest_jump(
    potential_at: Callable[[Any], Any], starts: Float[np.ndarray, "s d"], box: Box, rng: np.random.Generator
) -> tuple[Point, float] | None:
    """The place and the height of the largest jump of V on lines through the `starts`; None where V is continuous.

    Each line, of random direction, is divided into cells; the cell with the largest change is divided again, and so on.
    The change across a jump stays the same, while that of a continuous V shrinks.
    """
    low, high = np.asarray(box.low), np.asarray(box.high)
    across = rng.normal(size=starts.shape)
    across *= 0.1 * (high - low) / np.linalg.norm(across, axis=1, keepdims=True)
    begin, end = np.clip(starts - across, low, high), np.clip(starts + across, low, high)
    grid, rows = np.linspace(0, 1, LINE_CELLS + 1)[:, None], np.arange(len(starts))
    changes, size = [], 0.0
    for _ in range(ZOOMS):
        line = begin[:, None] + grid * (end - begin)[:, None]
        values = potential_at(line.reshape(-1, starts.shape[1])).reshape(len(starts), -1)
        change = np.nan_to_num(np.abs(np.diff(values, axis=1)), posinf=0.0)
        most = change.argmax(1)
        begin, end = line[rows, most], line[rows, most + 1]
        changes.append(change[rows, most])
        size = max(size, float(np.ptp(values[np.isfinite(values)]))) if np.isfinite(values).any() else size
    before, last = changes[-2:]
    stays = (last > 0.9 * before) & (last > SIGNIFICANT * size)
    if not stays.any():
        return None
    which = int(np.argmax(np.where(stays, last, 0)))
    return begin[which], float(last[which])


@compiled
def _residuals_and_potential(operator: Any, states: Any, values: Any, batch: Batch) -> tuple[Array, Array]:
    """The contribution of each point to the squared residuals, and the potential there."""
    squared = squared_residuals(operator, states, values, batch.x, batch.weights)
    return squared, potential_of(operator, batch.x)


@compiled
def _potential(operator: Any, x: Float[Array, "b d"]) -> Float[Array, " b"]:
    return potential_of(operator, x)


def _is_among(point: Point, others: Float[np.ndarray, "o d"], box: Box) -> bool:
    """Whether the point is the same place as one of the others."""
    away = np.abs(others - point) / (np.asarray(box.high) - np.asarray(box.low))
    return bool((away.max(1, initial=0) < SAME_PLACE).any()) if len(others) else False


def _formatted(point: Point) -> str:
    # Adding 0.0 turns −0.0 into 0.0.
    return (
        "(" + ", ".join(f"{round(float(value), 4) + 0.0:g}" for value in point) + ("," if len(point) == 1 else "") + ")"
    )

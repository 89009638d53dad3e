"""Why functions have not converged: what their residual and the potential tell, in a sentence."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from eigenax.core.precision import full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.domains.box import Box
from eigenax.locate.diffusion_monte_carlo import potential_of
from eigenax.locate.sharper import squared_residuals
from eigenax.modes import Modes, combined
from eigenax.problem import Problem

Point = Float[np.ndarray, " d"]
POINTS, STARTS, DRAWN = 4096, 24, 64
"""Points that are looked at, those from which a search begins, and those that each step of it tries."""
HALVINGS, CLOSE = 24, 1e-3
"""Steps of a search, each half as wide as the one before; and what counts as one place, as a share of the box."""
ENDLESS = 0.3
"""The last third of a search finds a finite limit if it gains less than this much of what the third before did."""
MANY = 4
"""More singular points than this are rather a line or a surface of them."""
ZOOMS, CELLS, STEEP = 4, 64, 1e-3
"""How often a line is looked at so many times closer, and a jump that is no rounding, as a share of the potential."""


def with_likely_cause(problem: Problem, modes: Modes, doubted: Bool[np.ndarray, " n"], otherwise: str) -> Modes:
    """The modes, with a note on what their errors are large for where some are doubted and nothing is noted yet.

    That is the potential, if it tells, and what to do `otherwise`.
    """
    if modes.note or not doubted.any():
        return modes
    return dataclasses.replace(modes, note=_in_the_potential(problem, modes, doubted) or otherwise)


def _in_the_potential(problem: Problem, modes: Modes, doubted: Bool[np.ndarray, " n"]) -> str:
    """A singularity or a jump of the potential near where the residuals are, or the potential is, largest."""
    operator, domain = problem.operator, problem.domain
    if domain is None or domain.flat is None or not operator.differential or operator.weak or operator.complex:
        return ""
    with precision_scope("float64"), full_precision():
        return _singularity_or_jump(problem, modes, doubted, domain.flat)


def _singularity_or_jump(problem: Problem, modes: Modes, doubted: Bool[np.ndarray, " n"], box: Box) -> str:
    states = combined(modes.network, modes.coefficients)
    key = stream(problem.seed, Stream.CAUSE)
    looked = _looked_at(problem.operator, states, modes.source or problem.source, modes.eigenvalues, key)
    x, squared, potential = (np.asarray(part, np.float64) for part in looked)
    share = np.nan_to_num((squared / np.maximum(squared.sum(0), np.finfo(float).tiny))[:, doubted].sum(1))
    rng = np.random.default_rng(problem.seed)

    def height(points: Float[np.ndarray, "c d"]) -> Float[np.ndarray, " c"]:
        return np.asarray(_potential(problem.operator, jnp.asarray(points)), np.float64)

    worst = x[np.argsort(-share)[:STARTS]]
    highest = x[np.argsort(-np.abs(potential - np.median(potential)))[:STARTS]]
    declared = np.array(problem.operator.singularities()).reshape(-1, x.shape[1])
    found = [
        one
        for one in singular_points(height, np.concatenate([worst, highest]), box, rng)
        if not _is_among(one, declared, box)
    ]
    if found:
        right = [p for p in declared if _is_among(p, np.array(singular_points(height, p[None], box, rng)), box)]
        return _of_singularities(found, right, [p for p in declared if not _is_among(p, np.array(right), box)])
    jump = largest_jump(height, worst, box, rng)
    if jump is not None:
        where, by = jump
        return (
            f"the potential jumps by {by:.3g} near x = {_shown(where)}, where the second derivatives of exact "
            "functions jump too, which smooth ones only approach: believe the stated errors, or make the step as wide "
            "as your problem allows"
        )
    return ""


def _of_singularities(found: list[Point], right: list[Point], wrong: list[Point]) -> str:
    """What to say of undeclared ones, and of places that are declared rightly and wrongly."""
    where = f"the potential has no finite limit at x = {', '.join(map(_shown, found[:MANY]))}"
    if len(found) > MANY:
        return f"{where} and elsewhere, not at single points: take coordinates in which it is finite, if there are any"
    lost = f", but one at the declared {', '.join(map(_shown, wrong))}" if wrong else ""
    return (
        f"{where}{lost}: functions have cusps there, which are made for declared points alone. Take Potential(V, "
        f"singularities=[{', '.join(map(_shown, [*right, *found]))}])"
    )


def singular_points(
    height: Callable[[Any], Any], starts: Float[np.ndarray, "s d"], box: Box, rng: np.random.Generator
) -> list[Point]:
    """Points near these where |V| grows without end, each once.

    Each of them goes to where |V| is largest among points around it, ever closer ones. Near a maximum that is finite
    it gains ever less; at a singularity as much at every step, or more.
    """
    low, high = np.asarray(box.low), np.asarray(box.high)
    here, values = starts, np.abs(height(starts))
    reached = [values]
    for halving in range(HALVINGS):
        width = 0.1 * (high - low) * 0.5**halving
        around = here[:, None] + width * rng.normal(size=(len(here), DRAWN, here.shape[1]))
        around = np.clip(np.concatenate([around, here[:, None]], 1), low, high)
        tried = np.abs(height(around.reshape(-1, here.shape[1]))).reshape(len(here), -1)
        best = np.where(np.isfinite(tried), tried, np.inf).argmax(1)
        here, values = around[np.arange(len(here)), best], tried[np.arange(len(here)), best]
        reached.append(values)
    third = HALVINGS // 3
    first, second, last = (reached[k] for k in (third, 2 * third, 3 * third))
    with np.errstate(invalid="ignore"):
        endless = ~np.isfinite(last) | (last - second > np.maximum(ENDLESS * (second - first), STEEP * np.abs(second)))
    places: list[Point] = []
    for point in here[endless]:
        if not _is_among(point, np.array(places).reshape(-1, len(point)), box):
            places.append(point)
    return places


def largest_jump(
    height: Callable[[Any], Any], starts: Float[np.ndarray, "s d"], box: Box, rng: np.random.Generator
) -> tuple[Point, float] | None:
    """Where V jumps the most on lines through these points, and by how much; nothing where it is continuous.

    Of each line the cell with the largest change is looked at more closely, and so on: the change across a jump stays.
    """
    low, high = np.asarray(box.low), np.asarray(box.high)
    across = rng.normal(size=starts.shape)
    across *= 0.1 * (high - low) / np.linalg.norm(across, axis=1, keepdims=True)
    begin, end = np.clip(starts - across, low, high), np.clip(starts + across, low, high)
    grid, rows = np.linspace(0, 1, CELLS + 1)[:, None], np.arange(len(starts))
    changes, size = [], 0.0
    for _ in range(ZOOMS):
        line = begin[:, None] + grid * (end - begin)[:, None]
        values = height(line.reshape(-1, starts.shape[1])).reshape(len(starts), -1)
        change = np.nan_to_num(np.abs(np.diff(values, axis=1)), posinf=0.0)
        most = change.argmax(1)
        begin, end = line[rows, most], line[rows, most + 1]
        changes.append(change[rows, most])
        size = max(size, float(np.ptp(values[np.isfinite(values)]))) if np.isfinite(values).any() else size
    before, last = changes[-2:]
    stays = (last > 0.9 * before) & (last > STEEP * size)
    if not stays.any():
        return None
    which = int(np.argmax(np.where(stays, last, 0)))
    return begin[which], float(last[which])


@eqx.filter_jit
def _looked_at(operator: Any, states: Any, source: Any, values: Any, key: Array) -> tuple[Array, Array, Array]:
    """Fresh points, what each adds to the squared residuals there, and the potential."""
    batch = source.sample_qmc(key, POINTS)
    squared = squared_residuals(operator, states, values, batch.x, batch.weights)
    return batch.x, squared, potential_of(operator, batch.x)


@eqx.filter_jit
def _potential(operator: Any, x: Float[Array, "b d"]) -> Float[Array, " b"]:
    return potential_of(operator, x)


def _is_among(point: Point, others: Float[np.ndarray, "o d"], box: Box) -> bool:
    away = np.abs(others - point) / (np.asarray(box.high) - np.asarray(box.low))
    return bool((away.max(1, initial=0) < CLOSE).any()) if len(others) else False


def _shown(point: Point) -> str:
    # + 0.0: no minus before a zero.
    return (
        "(" + ", ".join(f"{round(float(value), 4) + 0.0:g}" for value in point) + ("," if len(point) == 1 else "") + ")"
    )

"""Classical slow feature analysis: principal components, linear, and quadratic."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float, Int, Num

from eigenax.core.rayleigh import HIGHEST
from eigenax.evaluation.slowness import delta_values
from eigenax.progress import progress_track

COMPONENTS, LOOKED_AT = 200, 10_000
"""Principal components, and frames from all over a video that they are taken of."""
EXPANDED = (20, 40)
"""How many of the slowest linear features quadratic slow feature analysis may multiply."""
ROUNDS, GUARDS, PIECE = 8, 24, 8192
VARIANCE = 1e-5
"""Directions with less than this share of the largest variance are left out: rounding decides how slow they are."""

Expansion = Callable[[Float[Array, "time m"]], Float[Array, "time q"]]
"""More numbers of each row."""


class Projection(NamedTuple):
    """(rows − mean) @ matrix."""

    mean: Float[np.ndarray, " m"]
    matrix: Float[np.ndarray, "m n"]

    def __call__(
        self, rows: Num[Array | np.ndarray, "time q"], expand: Expansion | None = None
    ) -> Float[Array, "time n"]:
        """Features of rows, of which `expand` may make more first."""
        return _projected(*(jnp.asarray(part, jnp.float32) for part in (rows, *self)), expand)


@jax.jit(static_argnums=3)
def _projected(rows: Array, mean: Array, matrix: Array, expand: Expansion | None) -> Float[Array, "time n"]:
    return jnp.matmul((rows if expand is None else expand(rows)) - mean, matrix, precision=HIGHEST)


def principal_components(rows: Num[Array | np.ndarray, "time m"], keep: int) -> Projection:
    """The first principal components, by subspace iteration: few of many are asked for.

    >>> rows = np.random.default_rng(0).normal(size=(1000, 3)) * [1.0, 5.0, 1.0]
    >>> np.abs(principal_components(rows, 1).matrix[1]).round(2)
    array([1.], dtype=float32)
    """
    keep = min(keep, *rows.shape)
    return Projection(*(np.asarray(part) for part in _components(jnp.asarray(rows, jnp.float32), keep)))


@jax.jit(static_argnums=1)
def _components(rows: Float[Array, "time m"], keep: int) -> tuple[Array, Array]:
    mean = rows.mean(0)
    centred = rows - mean
    start = jax.random.normal(jax.random.key(0), (rows.shape[1], min(keep + GUARDS, rows.shape[1])))

    def once(basis: Array, _: None) -> tuple[Array, None]:
        return jnp.linalg.qr(centred.T @ (centred @ basis))[0], None

    basis, _ = jax.lax.scan(once, start, length=ROUNDS)
    rotation = jnp.linalg.svd(centred @ basis, full_matrices=False)[2]
    return mean, (basis @ rotation.T)[:, :keep]


def from_all_over(count: int) -> Int[np.ndarray, " few"]:
    """Numbers of `LOOKED_AT` of so many frames, or of all, evenly spread."""
    return np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(int)


def slow_directions(rows: Float[Array | np.ndarray, "time m"], n: int, expand: Expansion | None = None) -> Projection:
    """Linear slow feature analysis of one series: the n slowest combinations, of variance one, the slowest first.

    `expand` may make more of each row first; all of it is never held at once.

    >>> t = np.arange(2000)
    >>> mixed = np.stack([np.sin(t / 50) + np.sin(t / 3), np.sin(t / 3)], 1)
    >>> abs(np.corrcoef(slow_directions(mixed, 1)(mixed)[:, 0], np.sin(t / 50))[0, 1]) > 0.999
    True
    """
    totals, steps = [np.zeros(())] * 3, len(rows) - 1
    for start in range(0, steps, PIECE):
        piece = rows[np.arange(start, start + min(PIECE, steps) + 1).clip(0, steps)]
        sums = _sums(jnp.asarray(piece, jnp.float32), jnp.asarray(steps - start), expand)
        totals = [total + np.asarray(part, np.float64) for total, part in zip(totals, sums, strict=True)]
    mean, sigma, pi = (total / steps for total in totals)
    variances, axes = scipy.linalg.eigh(sigma - np.outer(mean, mean))
    kept = variances > VARIANCE * variances[-1]
    whitening = axes[:, kept] / np.sqrt(variances[kept])
    most = min(n, int(kept.sum())) - 1
    slow = scipy.linalg.eigh(whitening.T @ pi @ whitening, subset_by_index=(0, most))[1]
    return Projection(mean, whitening @ slow)


@jax.jit(static_argnums=2)
def _sums(rows: Float[Array, "time m"], steps: Int[Array, ""], expand: Expansion | None) -> tuple[Array, Array, Array]:
    """Σ x, Σ x xᵀ and Σ Δx Δxᵀ over at most so many steps from a row to the next."""
    x = rows if expand is None else expand(rows)
    counted = jnp.arange(len(x) - 1)[:, None] < steps
    x, change = jnp.where(counted, x[:-1], 0), jnp.where(counted, jnp.diff(x, axis=0), 0)
    return x.sum(0), jnp.matmul(x.T, x, precision=HIGHEST), jnp.matmul(change.T, change, precision=HIGHEST)


def quadratic(rows: Float[Array | np.ndarray, "time m"]) -> Float[Array, "time q"]:
    """The rows themselves and all products of two of their entries.

    >>> quadratic(np.array([[2.0, 3.0]]))
    Array([[2., 3., 4., 6., 9.]], dtype=float32)
    """
    first, second = np.triu_indices(rows.shape[1])
    return jnp.concatenate([rows, rows[:, first] * rows[:, second]], 1)


Pixels = Callable[[Int[np.ndarray, " b"]], Float[Array | np.ndarray, "b m"]]
"""Frames of a video as rows of pixels, by their numbers."""


def classical_slowness(
    seen: tuple[Pixels, int], other: tuple[Pixels, int], n: int, progress: bool = False
) -> dict[str, Float[np.ndarray, " n"]]:
    """Slowness, on another video, of n features that linear and quadratic slow feature analysis find in one.

    Of each video its frames and how many there are. Linear: of the first `COMPONENTS` principal components, or of n if
    that is more. Quadratic: of the products of the slowest linear features, as many as serve the last tenth of the
    video best when found on the rest. NaN for features that are more than can be told apart.
    """
    look, count = seen
    components = principal_components(look(from_all_over(count)), max(n, COMPONENTS))
    rows, other_rows = (_by_pieces(_components_seen(see, components), total, progress) for see, total in (seen, other))
    linear = slow_directions(rows, max(n, *EXPANDED))
    rows, other_rows = of_rows(linear, rows), of_rows(linear, other_rows)
    part, scores = len(rows) * 9 // 10, {}
    for keep in {min(keep, rows.shape[1]) for keep in EXPANDED}:
        tried = slow_directions(rows[:part, :keep], n, quadratic)
        values = _padded(delta_values([of_rows(tried, rows[part:, :keep], quadratic)]), n)
        scores[keep] = np.isnan(values).sum(), np.nansum(values)
    keep = min(scores, key=lambda keep: scores[keep])
    slow = slow_directions(rows[:, :keep], n, quadratic)
    found = {
        "linear SFA": delta_values([other_rows[:, :n]]),
        "quadratic SFA": delta_values([of_rows(slow, other_rows[:, :keep], quadratic)]),
    }
    return {name: _padded(values, n) for name, values in found.items()}


def _padded(values: Float[np.ndarray, " m"], n: int) -> Float[np.ndarray, " n"]:
    return np.pad(values, (0, n - len(values)), constant_values=np.nan)


def _components_seen(look: Pixels, components: Projection) -> Callable[[Int[np.ndarray, " b"]], Array]:
    return lambda numbers: components(look(numbers))


def of_rows(
    found: Projection, rows: Num[np.ndarray, "time m"], expand: Expansion | None = None
) -> Float[np.ndarray, "time n"]:
    """Features of rows, or of what is made of them first, a few rows at a time."""
    return _by_pieces(lambda numbers: found(rows[numbers], expand), len(rows))


def _by_pieces(
    function: Callable[[Int[np.ndarray, " b"]], Array], count: int, progress: bool = False
) -> Float[np.ndarray, "time n"]:
    """A function of numbered rows, so many at a time, always as many: a GPU spends seconds on every new size."""
    starts = progress_track(range(0, count, PIECE), "classical slow features", show=progress)
    size = min(PIECE, count)
    pieces = [np.asarray(function(np.arange(start, start + size).clip(0, count - 1))) for start in starts]
    return np.concatenate(pieces)[:count]

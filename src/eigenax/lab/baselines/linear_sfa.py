"""Classical slow feature analysis: principal components, linear, and quadratic."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from eigenax.core.random_streams import Stream
from eigenax.core.rayleigh import HIGHEST
from eigenax.lab.scores.slowness import delta_values
from eigenax.measurement.on_samples import errors, moments
from eigenax.modes import Modes
from eigenax.networks.base import Compose
from eigenax.networks.features import Products, Projection
from eigenax.operators.slowness import Slowness
from eigenax.progress import progress_track
from eigenax.samples import FreshSamples
from eigenax.sources.base import Source

COMPONENTS = (12, 25, 50, 100, 200)
"""Numbers of principal components that linear slow feature analysis may combine."""
LOOKED_AT = 10_000
"""Number of frames, spread evenly over a video, from which principal components are computed."""
EXPANDED = (10, 20, 40)
"""Numbers of the slowest linear features whose products quadratic slow feature analysis may combine."""
CHOOSING = 0.1
"""Share of a video, at its end, on which these numbers are chosen, with features found on the rest."""
SAMPLES = 4096
"""Number of clips on which saved features are measured."""
ROUNDS = 8
"""Iterations of the subspace iteration."""
GUARDS = 24
"""Vectors that the subspace iteration has beyond the principal components asked for, which speed it up."""
PIECE = 8192
"""Number of rows that are computed at a time."""
VARIANCE = 1e-5
"""Directions with less than this share of the largest variance are left out: their slowness is rounding error."""

Function = Callable[[Any], Array]
"""A function of one row."""


def principal_components(rows: Num[Array | np.ndarray, "time m"], keep: int) -> Projection:
    """The first principal components, by subspace iteration, which is fast where they are few of many.

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


def evenly_spread(count: int) -> Int[np.ndarray, " few"]:
    """The numbers of `LOOKED_AT` frames, spread evenly over this many, or of all if these are fewer."""
    return np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(int)


class Moments(NamedTuple):
    """The mean and covariance Σ of rows x, and Π = E[Δx Δxᵀ] of the steps from each row to the next."""

    mean: Float[np.ndarray, " m"]
    sigma: Float[np.ndarray, "m m"]
    pi: Float[np.ndarray, "m m"]

    def slowest(self, n: int, keep: int | None = None) -> Projection:
        """The n slowest combinations of the first `keep` columns, of variance one, the slowest first; fewer if fewer
        have enough variance."""
        variances, axes = np.linalg.eigh(self.sigma[:keep, :keep])
        kept = variances > VARIANCE * variances[-1]
        whitening = axes[:, kept] / np.sqrt(variances[kept])
        slow = np.linalg.eigh(whitening.T @ self.pi[:keep, :keep] @ whitening)[1][:, :n]
        return Projection(self.mean, np.eye(len(self.mean))[:, :keep] @ (whitening @ slow))

    def one_by_one(self, n: int) -> Projection:
        """The first n columns themselves, of variance one, the slowest first."""
        variances, changes = np.diag(self.sigma)[:n], np.diag(self.pi)[:n]
        kept = np.flatnonzero(variances > VARIANCE * variances.max())
        order = kept[np.argsort(changes[kept] / variances[kept])]
        return Projection(self.mean, np.eye(len(self.mean))[:, order] / np.sqrt(variances[order]))


def slow_directions(rows: Float[Array | np.ndarray, "time m"], n: int) -> Projection:
    """Linear slow feature analysis of one series: the n slowest combinations, of variance one, the slowest first.

    >>> t = np.arange(2000)
    >>> mixed = np.stack([np.sin(t / 50) + np.sin(t / 3), np.sin(t / 3)], 1)
    >>> bool(abs(np.corrcoef(slow_directions(mixed, 1)(mixed)[:, 0], np.sin(t / 50))[0, 1]) > 0.999)
    True
    """
    return moments_of(rows, np.arange(len(rows)) == 0).slowest(n)


def moments_of(
    rows: Float[Array | np.ndarray, "time m"], begins: Bool[np.ndarray, " time"], expand: Function | None = None
) -> Moments:
    """Moments over all steps from a row to the next one of the same episode.

    The mean and the covariance are those of each step's first row. `begins` says which rows begin an episode. `expand`
    may map each row to more columns, of which only a piece is in memory at a time."""
    totals, steps = [np.zeros(())] * 3, ~begins[1:]
    size = min(PIECE, 1 << (len(steps) - 1).bit_length())  # a power of two: each size is compiled for
    for start in range(0, len(steps), PIECE):
        numbers = np.arange(start, start + size + 1)
        counted = np.append(steps, np.zeros(PIECE, bool))[numbers[:-1]]
        piece = jnp.asarray(rows[numbers.clip(0, len(rows) - 1)], jnp.float32)
        sums = _sums(piece, jnp.asarray(counted), expand)
        totals = [total + np.asarray(part, np.float64) for total, part in zip(totals, sums, strict=True)]
    mean, sigma, pi = (total / steps.sum() for total in totals)
    return Moments(mean, sigma - np.outer(mean, mean), pi)


@eqx.filter_jit
def _sums(
    rows: Float[Array, "time m"], counted: Bool[Array, " steps"], expand: Function | None
) -> tuple[Array, Array, Array]:
    """Σ x, Σ x xᵀ and Σ Δx Δxᵀ over steps from a row to the next."""
    x = rows if expand is None else jax.vmap(expand)(rows)
    x, change = (jnp.where(counted[:, None], part, 0) for part in (x[:-1], jnp.diff(x, axis=0)))
    return x.sum(0), jnp.matmul(x.T, x, precision=HIGHEST), jnp.matmul(change.T, change, precision=HIGHEST)


class Video(NamedTuple):
    """A video as rows of pixels, of a frame or of several successive ones, and which rows begin an episode."""

    look: Callable[[Int[np.ndarray, " b"]], Float[Array | np.ndarray, "b m"]]
    """Returns the rows with these numbers, which count through all episodes."""
    begins: Bool[np.ndarray, " time"]

    @classmethod
    def of(cls, series: Sequence[Num[np.ndarray, "_ ..."]], frames: int) -> "Video":
        """A video of several episodes, with `frames` successive frames as one row; mapped files stay on the disk."""
        counts = [len(rows) - frames + 1 for rows in series]
        firsts = np.cumsum([0, *counts])

        def look(numbers: Int[np.ndarray, " b"]) -> Float[np.ndarray, "b m"]:
            episodes = np.searchsorted(firsts, numbers, side="right") - 1
            found = np.empty((len(numbers), frames * int(np.prod(series[0].shape[1:]))), np.float32)
            for episode in np.unique(episodes):
                here = episodes == episode
                times = (numbers[here] - firsts[episode])[:, None] + np.arange(frames)
                found[here] = series[episode][times].reshape(len(times), -1)
            return found

        return cls(look, np.isin(np.arange(firsts[-1]), firsts))


class Classical(NamedTuple):
    """Features that a classical method finds in one video, and how slow they are in another."""

    components: Projection
    after: Function
    slowness: Float[np.ndarray, " n"]
    """NaN for features beyond those that have enough variance."""

    def modes(self, name: str, source: Source, seed: int) -> Modes:
        """The features as functions of the points of a source, measured on that source."""
        network, operator = Compose(self.components.of(source.shape), self.after), Slowness()
        sigma, pi, _ = moments(network, operator, FreshSamples(source, seed, Stream.FINDING, SAMPLES))
        values = np.diag(pi) / np.diag(sigma)
        scatter, residuals = errors(network, values, operator, FreshSamples(source, seed, Stream.MEASURING, SAMPLES))
        unknown = np.full(len(values), np.nan)
        return Modes(
            network, np.eye(len(values)), values, scatter, unknown, residuals, source.shape, seed=seed, solver=name
        )


def classical_features(seen: Video, other: Video, n: int, progress: bool = False) -> dict[str, Classical]:
    """The n features that principal components, linear and quadratic slow feature analysis find in one video, and
    their slowness in another.

    PCA: the first n principal components. Linear: the slowest combinations of a larger number of them. Quadratic: the
    slowest combinations of the products of the slowest linear features. Both numbers are those with the slowest
    features on the last tenth of the video, when found on the rest of it.
    """
    components = principal_components(seen.look(evenly_spread(len(seen.begins))), max(n, *COMPONENTS))
    rows, other_rows = (
        _by_pieces(_components_seen(video, components), len(video.begins), progress) for video in (seen, other)
    )
    part = len(rows) - int(CHOOSING * len(rows))
    found_in = {stop: moments_of(rows[:stop], seen.begins[:stop]) for stop in (part, len(rows))}

    def best(keeps: Sequence[int], found: Callable[[int, int], Function]) -> tuple[int, Function]:
        """How many columns to keep, and what is found of them in all rows."""
        scores = {}
        for keep in sorted({min(max(n, keep), rows.shape[1]) for keep in keeps}):
            values = _slowness(found(keep, part), rows[part:], seen.begins[part:], n)
            scores[keep] = np.isnan(values).sum(), np.nansum(values)
        keep = min(scores, key=lambda keep: scores[keep])
        return keep, found(keep, len(rows))

    def products(keep: int, stop: int) -> Function:
        expand = Compose(found_in[stop].slowest(keep, max(keep, kept)), Products())
        return Compose(expand, moments_of(rows[:stop], seen.begins[:stop], expand).slowest(n))

    kept, linear = best(COMPONENTS, lambda keep, stop: found_in[stop].slowest(n, keep))
    found = {
        "PCA": found_in[len(rows)].one_by_one(n),
        "linear SFA": linear,
        "quadratic SFA": best(EXPANDED, products)[1],
    }
    return {
        name: Classical(components, function, _slowness(function, other_rows, other.begins, n))
        for name, function in found.items()
    }


def _slowness(
    function: Function, rows: Float[np.ndarray, "time m"], begins: Bool[np.ndarray, " time"], n: int
) -> Float[np.ndarray, " n"]:
    """The slowness of n features over all episodes; NaN for missing features, and where no episode has two rows."""
    if begins[1:].all():
        return np.full(n, np.nan)
    values = delta_values(np.split(of_rows(function, rows), np.flatnonzero(begins[1:]) + 1))
    return np.pad(values, (0, n - len(values)), constant_values=np.nan)


def _components_seen(video: Video, components: Projection) -> Callable[[Int[np.ndarray, " b"]], Array]:
    return lambda numbers: components(video.look(numbers))


def of_rows(function: Function, rows: Num[np.ndarray, "time m"]) -> Float[np.ndarray, "time n"]:
    """The values of a function at all rows, computed in pieces."""
    return _by_pieces(lambda numbers: _applied(function, rows[numbers]), len(rows))


@eqx.filter_jit
def _applied(function: Function, rows: Num[Array | np.ndarray, "b m"]) -> Float[Array, "b n"]:
    return jax.vmap(function)(jnp.asarray(rows, jnp.float32))


def _by_pieces(
    function: Callable[[Int[np.ndarray, " b"]], Array], count: int, progress: bool = False
) -> Float[np.ndarray, "time n"]:
    """The values of a function of row numbers, in pieces of one size: a GPU needs seconds to compile a new size."""
    starts = progress_track(range(0, count, PIECE), "classical slow features", show=progress)
    size = min(PIECE, count)
    pieces = [np.asarray(function(np.arange(start, start + size).clip(0, count - 1))) for start in starts]
    return np.concatenate(pieces)[:count]

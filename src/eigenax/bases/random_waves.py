"""Random waves of rows of numbers, and their moments on the rows of a series."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from eigenax.core.pencil import Pencil
from eigenax.core.whitening import CUTOFFS, whiten
from eigenax.networks.base import Compose, HiddenLayer
from eigenax.networks.features import ScaledInputs
from eigenax.networks.mlp import MLP

ROUNDING = 1e-12
"""Relative size below which variation is taken for rounding."""
PIECE = 8192
"""Rows that are processed at a time."""
SEARCHED_ROWS = 2048
"""Rows that are searched for repetitions."""
ALIKE = 1e-8
"""Combinations of columns with a smaller share of the variance than this count as linearly dependent."""

Functions = Callable[[Float[np.ndarray, "time d"]], Float[np.ndarray, "time f"]]
Episodes = Sequence[Float[np.ndarray, "_ d"]]


class RandomWaves(NamedTuple):
    """sin(z W + b) of standardised rows z; each wave depends on a few columns or on all of them."""

    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, "d f"]
    phases: Float[np.ndarray, " f"]

    def __call__(self, rows: Float[np.ndarray, "time d"]) -> Float[np.ndarray, "time f"]:
        """Their values, in float64."""
        return np.sin((rows - self.centre) / self.scale @ self.weights + self.phases)

    @classmethod
    def kept(
        cls,
        centre: Float[np.ndarray, " d"],
        scale: Float[np.ndarray, " d"],
        weights: Float[np.ndarray, "d f"],
        phases: Float[np.ndarray, " f"],
    ) -> "RandomWaves":
        """Waves with weights and phases rounded to float32, as their network stores them."""
        weights, phases = (part.astype(np.float32).astype(np.float64) for part in (weights, phases))
        return cls(centre, scale, weights, phases)

    def with_constant(self, rows: Float[np.ndarray, "time d"]) -> Float[np.ndarray, "time m"]:
        """Their values, followed by a constant as in their network."""
        return np.concatenate([self(rows), np.ones((len(rows), 1))], 1)

    def combined(
        self, rows: Float[np.ndarray, "time d"], function: Float[np.ndarray, "m n"]
    ) -> Float[np.ndarray, "time n"]:
        """Linear combinations of the waves and the constant; the last coefficient is that of the constant."""
        return self(rows) @ function[:-1] + function[-1]

    def network(self) -> Compose:
        """The same waves, followed by a constant, as the hidden layer of a perceptron."""
        inputs = ScaledInputs(tuple(self.centre.tolist()), tuple(self.scale.tolist()))
        empty = MLP(1, 1, width=1, depth=1, activation="sin", sparsity="none", key=jax.random.key(0))
        outputs = jnp.zeros((1, len(self.phases)))
        mlp = eqx.tree_at(
            lambda m: (m.weights, m.biases),
            empty,
            ((jnp.asarray(self.weights.T), outputs), (jnp.asarray(self.phases), jnp.zeros(1))),
        )
        return Compose(inputs, HiddenLayer(mlp))


def random_waves(
    rows: Float[np.ndarray, "time d"],
    count: int,
    speed: float,
    seed: int,
    directions: Float[np.ndarray, "d m"] | None = None,
) -> RandomWaves:
    """Waves that depend on 1, 2, 4 … or all columns, chosen at random, in units of the columns' standard deviations.

    `directions` are combinations of columns with variance one. If they are given, half of the waves depend on the first
    1, 2, 4 … or all of these instead.
    """
    centre, scale = rows.mean(0), rows.std(0)
    # Constant columns are left out: what they seem to vary by is rounding.
    varies = scale > ROUNDING * np.abs(rows).max(0)
    scale = np.where(varies, scale, 1.0)
    rng, columns = np.random.default_rng(seed), rows.shape[1]
    most = int(np.ceil(np.log2(columns))) if columns > 1 else 0
    columns_seen = np.minimum(columns, 2 ** rng.integers(0, most + 1, count))
    chosen = rng.random((columns, count)).argsort(0) < columns_seen
    weights = speed * rng.normal(size=(columns, count)) * (chosen & varies[:, None]) / np.sqrt(columns_seen)
    phases = rng.uniform(-np.pi, np.pi, count)
    if directions is not None:
        along = speed * scale[:, None] * (directions @ _of_first_directions(directions.shape[1], count, rng))
        weights = np.where(np.arange(count) % 2 == 0, weights, along)
    return RandomWaves.kept(centre, scale, weights, phases)


def _of_first_directions(size: int, count: int, rng: np.random.Generator) -> Float[np.ndarray, "m f"]:
    """Random combinations of the first 1, 2, 4 … or all of `size` directions."""
    most = int(np.ceil(np.log2(size))) if size > 1 else 0
    used = np.minimum(size, 2 ** rng.integers(0, most + 1, count))
    return rng.normal(size=(size, count)) * (np.arange(size)[:, None] < used) / np.sqrt(used)


def signs_of(pieces: Iterable[Float[np.ndarray, "p n"]]) -> Float[np.ndarray, " n"]:
    """The sign of each function's value of largest modulus, from its values a piece at a time."""
    extremes = [(v.max(0), v.min(0)) for v in pieces]
    highest, lowest = (np.array(part) for part in zip(*extremes, strict=True))
    return np.where(highest.max(0) < -lowest.min(0), -1.0, 1.0)


class Moments(NamedTuple):
    """The mean and covariance of functions, and the second moments of their changes from row to row."""

    mean: Float[np.ndarray, " f"]
    sigma: Float[np.ndarray, "f f"]
    pi: Float[np.ndarray, "f f"]
    rank: int
    """The most linearly independent functions of mean zero that these rows allow."""

    def pencil(self, n: int) -> Pencil:
        """The pencil of the functions minus their means; at least n of them must be linearly independent.

        The functions are of order one, so variances below an absolute floor are rounding.
        """
        cutoff = len(self.sigma) * CUTOFFS["ridged"][0]
        return Pencil.of(self.sigma, self.pi, n, cutoff, rank=self.rank, floor=ROUNDING)


class Series(NamedTuple):
    """The rows of all episodes, one after the other; `follows` says which rows are followed by the next one.

    As in `Slowness`, averages are over pairs of successive rows: a row that is in two pairs counts twice.
    """

    rows: Float[np.ndarray, "time d"]
    follows: Bool[np.ndarray, " time"]
    weights: Float[np.ndarray, " time"]
    """Half the number of pairs that each row is in, over the number of pairs: weights add up to one."""
    distinct: int
    """The number of distinct rows; that of all rows if the first of them do not repeat."""

    @classmethod
    def of(cls, episodes: Episodes) -> "Series":
        """The series of these episodes."""
        rows = np.concatenate(episodes)
        follows = np.ones(len(rows), bool)
        follows[np.cumsum([len(one) for one in episodes]) - 1] = False
        weights = (follows.astype(float) + np.roll(follows, 1)) / (2 * max(follows.sum(), 1))
        some = rows[:SEARCHED_ROWS]
        repeat = len(np.unique(some, axis=0)) < len(some)
        return cls(rows, follows, weights, len(np.unique(rows, axis=0)) if repeat else len(rows))

    def pieces(self) -> "Iterator[SeriesPiece]":
        """A few rows at a time, with the row after them, if there is one."""
        for start in range(0, len(self.rows), PIECE):
            here = slice(start, start + PIECE)
            yield SeriesPiece(self.rows[start : start + PIECE + 1], self.follows[here], self.weights[here])


class SeriesPiece(NamedTuple):
    """Some rows of a series and the one after them; which of them are followed, and their weights."""

    rows: Float[np.ndarray, "p d"]
    follows: Bool[np.ndarray, " q"]
    weights: Float[np.ndarray, " q"]

    def changes(self, u: Float[np.ndarray, "p f"]) -> Float[np.ndarray, "r f"]:
        """The changes of functions, given their values u, from each row that is followed to the next."""
        return np.diff(u, axis=0)[self.follows[: len(u) - 1]]


def moments_of(functions: Functions, series: Series) -> Moments:
    """The mean and covariance of functions, and of their changes from row to row."""
    # An estimate of the mean is subtracted first: otherwise rounding would swamp a small variance.
    near = functions(series.rows[:PIECE]).mean(0)
    count = len(near)
    mean, sigma, pi = np.zeros(count), np.zeros((count, count)), np.zeros((count, count))
    for piece in series.pieces():
        u, roots = functions(piece.rows) - near, np.sqrt(piece.weights)
        change, u = piece.changes(u), roots[:, None] * u[: len(roots)]
        mean, sigma, pi = mean + roots @ u, sigma + u.T @ u, pi + change.T @ change
    rank = min(count, series.distinct - 1)
    return Moments(mean + near, sigma - np.outer(mean, mean), pi / max(series.follows.sum(), 1), rank)


def slow_directions(series: Series) -> Float[np.ndarray, "d m"]:
    """Linearly independent combinations of columns, uncorrelated and of variance one, the slowest first."""
    found = moments_of(lambda rows: rows, series)
    whitening, _ = whiten(found.sigma, ALIKE, floor=(ROUNDING * np.abs(series.rows).max()) ** 2)
    return whitening @ np.linalg.eigh(whitening.T @ found.pi @ whitening)[1]

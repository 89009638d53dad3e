"""Random waves of rows of numbers, and the slowest combinations of them on the rows of a series."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from eigenax.core.ritz import CUTOFFS, Pencil, whiten
from eigenax.networks.base import Compose, HiddenLayer
from eigenax.networks.features import ScaledInputs
from eigenax.networks.mlp import MLP

ROUNDING, PIECE, LOOKED_THROUGH = 1e-12, 8192, 2048
"""Variances below which a wave is constant, rows that are held at once, and rows that tell whether rows repeat."""
ALIKE = 1e-8
"""The variance below which combinations of columns, of variance one each, are not told from others."""

Functions = Callable[[Float[np.ndarray, "time d"]], Float[np.ndarray, "time f"]]
Episodes = Sequence[Float[np.ndarray, "_ d"]]


class RandomWaves(NamedTuple):
    """sin(z W + b) of standardised rows z; each wave sees a few columns or all of them."""

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
        """Waves with weights and phases as their network keeps them, in float32."""
        weights, phases = (part.astype(np.float32).astype(np.float64) for part in (weights, phases))
        return cls(centre, scale, weights, phases)

    def with_constant(self, rows: Float[np.ndarray, "time d"]) -> Float[np.ndarray, "time m"]:
        """Their values and, as in their network, a constant after them."""
        return np.concatenate([self(rows), np.ones((len(rows), 1))], 1)

    def combined(
        self, rows: Float[np.ndarray, "time d"], function: Float[np.ndarray, "m n"]
    ) -> Float[np.ndarray, "time n"]:
        """Combinations of them and of a constant."""
        return self(rows) @ function[:-1] + function[-1]

    def network(self) -> Compose:
        """The same waves, and a constant after them, as the hidden layer of a perceptron."""
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
    """Waves that look at 1, 2, 4 … or all columns, chosen at random, in units of the columns' standard deviations.

    If there are directions, combinations of the columns of variance one, half of the waves look at the first 1, 2, 4 …
    or all of them.
    """
    centre, scale = rows.mean(0), rows.std(0)
    # Constant columns tell nothing; what they seem to vary by is rounding.
    varies = scale > ROUNDING * np.abs(rows).max(0)
    scale = np.where(varies, scale, 1.0)
    rng, columns = np.random.default_rng(seed), rows.shape[1]
    most = int(np.ceil(np.log2(columns))) if columns > 1 else 0
    looks_at = np.minimum(columns, 2 ** rng.integers(0, most + 1, count))
    chosen = rng.random((columns, count)).argsort(0) < looks_at
    weights = speed * rng.normal(size=(columns, count)) * (chosen & varies[:, None]) / np.sqrt(looks_at)
    phases = rng.uniform(-np.pi, np.pi, count)
    if directions is not None:
        along = speed * scale[:, None] * (directions @ _of_first(directions.shape[1], count, rng))
        weights = np.where(np.arange(count) % 2 == 0, weights, along)
    return RandomWaves.kept(centre, scale, weights, phases)


def _of_first(size: int, count: int, rng: np.random.Generator) -> Float[np.ndarray, "m f"]:
    """Random combinations of the first 1, 2, 4 … or all of so many."""
    most = int(np.ceil(np.log2(size))) if size > 1 else 0
    looks_at = np.minimum(size, 2 ** rng.integers(0, most + 1, count))
    return rng.normal(size=(size, count)) * (np.arange(size)[:, None] < looks_at) / np.sqrt(looks_at)


def signs_of(pieces: Iterable[Float[np.ndarray, "p n"]]) -> Float[np.ndarray, " n"]:
    """The sign of each function's largest value, from its values a piece at a time."""
    extremes = [(v.max(0), v.min(0)) for v in pieces]
    highest, lowest = (np.array(part) for part in zip(*extremes, strict=True))
    return np.where(highest.max(0) < -lowest.min(0), -1.0, 1.0)


class Moments(NamedTuple):
    """The mean and covariance of waves, and the second moments of their changes from row to row."""

    mean: Float[np.ndarray, " f"]
    sigma: Float[np.ndarray, "f f"]
    pi: Float[np.ndarray, "f f"]
    rank: int
    """How many functions can differ, from their means, on the rows there are."""

    def pencil(self, n: int) -> Pencil:
        """Of the functions less their means, which are of order one; there must be n that can be told apart."""
        cutoff = len(self.sigma) * CUTOFFS["ridged"][0]
        return Pencil.of(self.sigma, self.pi, n, cutoff, rank=self.rank, floor=ROUNDING)


class Series(NamedTuple):
    """The rows of all episodes, one after the other, and which of them are followed by the next.

    A row counts once for each pair that it is in, half as first and half as second, as it does for `Slowness`.
    """

    rows: Float[np.ndarray, "time d"]
    follows: Bool[np.ndarray, " time"]
    weights: Float[np.ndarray, " time"]
    """In how many pairs each row is, halved, over the number of pairs: they add up to one."""
    distinct: int
    """How many rows differ, unless rows hardly ever repeat."""

    @classmethod
    def of(cls, episodes: Episodes) -> "Series":
        """Of these episodes."""
        rows = np.concatenate(episodes)
        follows = np.ones(len(rows), bool)
        follows[np.cumsum([len(one) for one in episodes]) - 1] = False
        weights = (follows.astype(float) + np.roll(follows, 1)) / (2 * max(follows.sum(), 1))
        some = rows[:LOOKED_THROUGH]
        repeat = len(np.unique(some, axis=0)) < len(some)
        return cls(rows, follows, weights, len(np.unique(rows, axis=0)) if repeat else len(rows))

    def pieces(self) -> "Iterator[SeriesPiece]":
        """A few rows at a time; after them one more, if there is one, to follow."""
        for start in range(0, len(self.rows), PIECE):
            here = slice(start, start + PIECE)
            yield SeriesPiece(self.rows[start : start + PIECE + 1], self.follows[here], self.weights[here])


class SeriesPiece(NamedTuple):
    """Some rows and one more, which of them are followed, and their weights."""

    rows: Float[np.ndarray, "p d"]
    follows: Bool[np.ndarray, " q"]
    weights: Float[np.ndarray, " q"]

    def changes(self, u: Float[np.ndarray, "p f"]) -> Float[np.ndarray, "r f"]:
        """Of functions, from each row that is followed to the next."""
        return np.diff(u, axis=0)[self.follows[: len(u) - 1]]


def moments_of(functions: Functions, series: Series) -> Moments:
    """The mean and covariance of functions, and of their changes from row to row."""
    # Away from values that are near the mean: rounding would decide the variance of what hardly varies.
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
    """The combinations of columns of variance one that can be told apart, from the slowest on."""
    found = moments_of(lambda rows: rows, series)
    whitening, _ = whiten(found.sigma, ALIKE, floor=(ROUNDING * np.abs(series.rows).max()) ** 2)
    return whitening @ np.linalg.eigh(whitening.T @ found.pi @ whitening)[1]

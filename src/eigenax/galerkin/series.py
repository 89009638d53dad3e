"""Slow features of rows of numbers without training: the slowest combinations of random waves."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float

from eigenax.errors import SingularMomentsError
from eigenax.modes import Modes
from eigenax.networks.base import HiddenLayer, OnInputs
from eigenax.networks.features import ScaledInputs
from eigenax.networks.mlp import MLP

COUNTS, SPEEDS = (256, 1024), (0.5, 1.0, 2.0)
"""How many waves, and how fast they change over a standard deviation of the inputs; held-out time chooses."""
RIDGES = tuple(10.0**-power for power in range(2, 12))
"""What large coefficients cost; held-out time chooses for each feature, and the largest of those that do as well."""
AS_WELL, ONE_BY_ONE = 1.02, 12
UNCHOSEN, ROUNDING = RIDGES[3], 1e-12
HELD_OUT, LEAST_HELD_OUT = 0.2, 20
"""The share of each episode, at its end, that chooses, and the rows there must be of it in all."""
ROWS_PER_WAVE = 2
LOOKED_AT, PIECE, GROUPS = 50_000, 8192, 16
"""Rows that the choice is made on, rows that are held at once, and groups whose scatter is the standard error."""

Episodes = Sequence[Float[np.ndarray, "_ d"]]


class Waves(NamedTuple):
    """sin(z W + b) of standardised rows z; each wave sees a few columns or all of them."""

    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, "d f"]
    phases: Float[np.ndarray, " f"]

    def __call__(self, rows: Float[np.ndarray, "time d"]) -> Float[np.ndarray, "time f"]:
        """Their values, in float64."""
        return np.sin((rows - self.centre) / self.scale @ self.weights + self.phases)

    def network(self) -> OnInputs:
        """The same waves, and a constant after them, as the hidden layer of a perceptron."""
        inputs = ScaledInputs(tuple(self.centre.tolist()), tuple(self.scale.tolist()))
        empty = MLP(1, 1, width=1, depth=1, activation="sin", sparsity="none", key=jax.random.key(0))
        outputs = jnp.zeros((1, len(self.phases)))
        mlp = eqx.tree_at(
            lambda m: (m.weights, m.biases),
            empty,
            ((jnp.asarray(self.weights.T), outputs), (jnp.asarray(self.phases), jnp.zeros(1))),
        )
        return OnInputs(inputs, HiddenLayer(mlp))


def slow_waves(episodes: Episodes, n: int, seed: int = 0) -> Modes:
    """The n slowest combinations of random waves of the rows of one or more series, without the constant.

    Linear slow feature analysis of sines of random combinations of the columns, in float64. How many waves, how fast,
    and what large coefficients cost is what gives the slowest features on the last fifth of each episode, when found
    on the rest (of the first `LOOKED_AT` rows or so, if there are more); then all rows are used.

    >>> t = np.arange(2000)
    >>> modes = slow_waves([np.stack([np.sin(t / 50) + np.sin(t / 3), np.sin(t / 3)], 1)], n=1)
    >>> float(modes.eigenvalues[0]) < 1e-3
    True
    """
    episodes = [np.asarray(rows, np.float64) for rows in episodes]
    if all((rows == episodes[0][0]).all() for rows in episodes):
        raise ValueError("every row of the series is the same: nothing in it is slow or fast")
    waves, ridges = _chosen(episodes, n, seed)
    moments = _moments(waves, episodes)
    coefficients = _Whitened.of(moments, n).one_by_one(ridges, n)
    values = np.diag(coefficients.T @ moments.pi @ coefficients)
    order = np.argsort(values)
    values, coefficients = values[order], coefficients[:, order]
    function = np.concatenate([coefficients, -(moments.mean @ coefficients)[None]])
    errors, residuals = _errors(waves, episodes, function, values)
    signs = _signs(waves, episodes, function)
    return Modes(
        waves.network(), function * signs, values, errors, residuals, (episodes[0].shape[1],), "smallest", 0, seed,
        "float64", None, "nothing is trained",
    )  # fmt: skip


def _chosen(episodes: Episodes, n: int, seed: int) -> tuple[Waves, list[float]]:
    """The waves and ridges whose features are slowest on the end of each episode, which they were not found on."""
    share = min(1.0, LOOKED_AT / sum(map(len, episodes)))
    looked_at = [rows[: max(2, int(share * len(rows)))] for rows in episodes]
    ends = [len(rows) - int(HELD_OUT * len(rows)) for rows in looked_at]
    seen = [rows[:end] for rows, end in zip(looked_at, ends, strict=True)]
    held_out = [rows[end:] for rows, end in zip(looked_at, ends, strict=True) if len(rows) - end > 1]
    most = max(n + 1, sum(map(len, seen)) // ROWS_PER_WAVE)
    counts = sorted({min(max(count, 4 * n), most) for count in COUNTS})
    candidates = [random_waves(seen, count, speed, seed) for count, speed in itertools.product(counts, SPEEDS)]
    if sum(map(len, held_out)) < LEAST_HELD_OUT:
        return candidates[0], [UNCHOSEN]
    best, choice = np.inf, None
    for waves in candidates:
        moments = _moments(waves, seen)
        whitened = _Whitened.of(moments, n)
        together = np.concatenate([whitened.slowest(ridge, n) for ridge in RIDGES], 1)
        # Logarithms: a feature ten times slower than the next one matters as much.
        scores = np.log(_slowness(waves, held_out, together)).reshape(len(RIDGES), n).sum(1)
        if choice is None or scores.min() < best:
            best, choice = scores.min(), (waves, whitened)
    assert choice is not None, "there is at least one candidate"
    return choice[0], _chosen_ridges(*choice, held_out, n)


def _chosen_ridges(waves: Waves, whitened: "_Whitened", held_out: Episodes, n: int) -> list[float]:
    """For one feature after the other, for the first ones, the largest ridge that is about as good as any."""
    ridges: list[float] = []
    for count in range(1, min(n, ONE_BY_ONE) + 1):
        tried = np.stack([whitened.one_by_one([*ridges, ridge], count)[:, -1] for ridge in RIDGES], 1)
        slowness = _slowness(waves, held_out, tried)
        ridges.append(RIDGES[int(np.argmax(slowness <= AS_WELL * slowness.min()))])
    return ridges


def random_waves(episodes: Episodes, count: int, speed: float, seed: int) -> Waves:
    """Waves that look at 1, 2, 4 … or all columns, chosen at random, in units of the columns' standard deviations."""
    rows = np.concatenate(episodes)
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
    # The network that will evaluate them holds its numbers in float32.
    weights, phases = (part.astype(np.float32).astype(np.float64) for part in (weights, phases))
    return Waves(centre, scale, weights, phases)


class _Moments(NamedTuple):
    mean: Float[np.ndarray, " f"]
    sigma: Float[np.ndarray, "f f"]
    pi: Float[np.ndarray, "f f"]


def _pieces(episodes: Episodes) -> Iterator[tuple[Float[np.ndarray, "p d"], Bool[np.ndarray, " q"]]]:
    """Rows of all episodes a few at a time, and which of them are followed by the next.

    The last one of a piece is also the first of the next piece: few are counted twice.
    """
    rows = np.concatenate(episodes)
    follows = np.ones(len(rows), bool)
    follows[np.cumsum([len(one) for one in episodes]) - 1] = False
    for start in range(0, max(1, len(rows) - 1), PIECE):
        piece = rows[start : start + PIECE + 1]
        yield piece, follows[start : start + len(piece) - 1]


def _moments(waves: Waves, episodes: Episodes) -> _Moments:
    """The mean and covariance of waves, and of their changes from row to row."""
    count = len(waves.phases)
    total, sigma, pi, points, pairs = np.zeros(count), np.zeros((count, count)), np.zeros((count, count)), 0, 0
    for rows, follows in _pieces(episodes):
        u = waves(rows)
        change = np.diff(u, axis=0)[follows]
        total, sigma, pi = total + u.sum(0), sigma + u.T @ u, pi + change.T @ change
        points, pairs = points + len(u), pairs + len(change)
    mean = total / points
    return _Moments(mean, sigma / points - np.outer(mean, mean), pi / max(pairs, 1))


class _Whitened(NamedTuple):
    """Combinations of waves that are uncorrelated and of variance one, and how fast those change."""

    whitening: Float[np.ndarray, "f r"]
    matrix: Float[np.ndarray, "r r"]
    cost: Float[np.ndarray, " r"]
    """The square of the coefficients each one takes, of waves of variance one."""
    found: dict[tuple[tuple[float, ...], int], Float[np.ndarray, "r _"]]
    """Features that were found before, by the ridges of all up to them and how many they are."""

    @classmethod
    def of(cls, moments: _Moments, n: int) -> "_Whitened":
        deviations = np.sqrt(np.diag(moments.sigma).clip(0))
        inverse = np.where(deviations > ROUNDING, 1 / np.maximum(deviations, ROUNDING), 0)  # waves are of order one
        variances, axes = np.linalg.eigh(moments.sigma * np.outer(inverse, inverse))
        kept = variances > 1e-14 * len(variances) * variances[-1]
        if kept.sum() < n:
            raise SingularMomentsError(
                f"the rows differ in too few ways for {n} features: {kept.sum()} functions of them can be told apart; "
                "ask for fewer, or give more rows"
            )
        variances, whitening = variances[kept], inverse[:, None] * axes[:, kept] / np.sqrt(variances[kept])
        return cls(whitening, whitening.T @ moments.pi @ whitening, 1 / variances, {})

    def slowest(self, ridge: float, n: int) -> Float[np.ndarray, "f n"]:
        """Coefficients of the n combinations that are slowest with one ridge for all."""
        penalised = self.matrix + ridge * np.diag(self.cost)
        return self.whitening @ scipy.linalg.eigh(penalised, subset_by_index=(0, n - 1))[1]

    def one_by_one(self, ridges: Sequence[float], n: int) -> Float[np.ndarray, "f n"]:
        """The slowest combination with the first ridge, the slowest uncorrelated one with the second, and so on; what
        is left with the last."""
        taken = np.zeros((len(self.matrix), 0))
        for count, ridge in enumerate(ridges, start=1):
            key, many = tuple(ridges[:count]), 1 if count < len(ridges) else n - count + 1
            if (key, many) not in self.found:
                penalised = self.matrix + ridge * np.diag(self.cost)
                # What is taken is moved to the other end of the spectrum.
                lifted = penalised + 2 * np.trace(penalised) * taken @ taken.T
                vectors = scipy.linalg.eigh(lifted, subset_by_index=(0, many - 1))[1]
                self.found[key, many] = np.linalg.qr(vectors - taken @ (taken.T @ vectors))[0]
            taken = np.concatenate([taken, self.found[key, many]], 1)
        return self.whitening @ taken


def _slowness(waves: Waves, episodes: Episodes, coefficients: Float[np.ndarray, "f m"]) -> Float[np.ndarray, " m"]:
    """E[(Δy)²] / Var[y] of combinations of waves."""
    y, changes = [], []
    for rows, follows in _pieces(episodes):
        y.append(waves(rows) @ coefficients)
        changes.append(np.diff(y[-1], axis=0)[follows])
    return (np.concatenate(changes) ** 2).mean(0) / np.concatenate(y).var(0).clip(np.finfo(float).tiny)


def _values(waves: Waves, rows: Float[np.ndarray, "time d"], function: Float[np.ndarray, "f n"]) -> np.ndarray:
    return waves(rows) @ function[:-1] + function[-1]


def _errors(
    waves: Waves, episodes: Episodes, function: Float[np.ndarray, "f n"], values: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Standard errors from the scatter between stretches of time, and residual norms as `Slowness.twice` has them."""
    influence, products = [], []
    for rows, follows in _pieces(episodes):
        v = _values(waves, rows, function)
        change = np.diff(v, axis=0)
        influence.append((change**2 - values * (v[1:] ** 2 + v[:-1] ** 2) / 2)[follows])
        after, before = -2 * change[1:] - values * v[1:-1], 2 * change[:-1] - values * v[1:-1]
        products.append((after * before)[follows[1:] & follows[:-1]])
    groups = [part.mean(0) for part in np.array_split(np.concatenate(influence), GROUPS) if len(part)]
    errors = np.std(groups, axis=0, ddof=1) / np.sqrt(len(groups)) if len(groups) > 1 else np.full(len(values), np.nan)
    together = np.concatenate(products)
    squared = together.mean(0) if len(together) else np.full(len(values), -1.0)
    return errors, np.sqrt(np.where(squared >= 0, squared, np.nan))


def _signs(waves: Waves, episodes: Episodes, function: Float[np.ndarray, "f n"]) -> Float[np.ndarray, " n"]:
    """The sign of each function's largest value."""
    extremes = [(v.max(0), v.min(0)) for v in (_values(waves, rows, function) for rows, _ in _pieces(episodes))]
    highest, lowest = (np.array(part) for part in zip(*extremes, strict=True))
    return np.where(highest.max(0) < -lowest.min(0), -1.0, 1.0)

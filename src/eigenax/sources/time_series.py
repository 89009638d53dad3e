"""Short clips of time series or video, whose successive points form pairs."""

import itertools
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from eigenax.checks import as_array, check_dense, positive_int
from eigenax.core.batch import Pairs
from eigenax.sources.base import HostData, Source
from eigenax.sources.rows import Rows, rows_of

DEFAULT_LENGTH = 10
"""Points in a clip, unless given."""
MIN_STRETCHES = 64
"""`in_order` divides the data into at least this many stretches, if there are as many pairs."""
MAX_STRETCH_PAIRS = 256
"""The most pairs in one stretch."""
HELD_OUT_SHARE = 0.125
"""The share of each episode, at its end, that estimators hold out for early stopping by default."""
MIN_HELD_OUT_ROWS = 20
"""If that share is fewer rows than this in all, they hold out none."""


class TimeSeries(Source):
    """Clips of `length` successive points, drawn from anywhere in time series of shape (time, features…).

    `series` is one array or a list of episodes; no pair crosses from one episode to the next. Without a `length`,
    clips have 10 points, or as many as the shortest episode if it has fewer.

    A point is one row, or `n_stack` successive rows joined along their first axis: a row (d,) becomes (n_stack · d,),
    an image (h, w) or (c, h, w) becomes (n_stack · c, h, w). `view`, if given, first turns each row into something
    else, such as positions of objects into an image of them. Arrays of small integers keep their type and become real
    when drawn; memory-mapped arrays stay in their files. A batch of `size` clips has size × (length − 1) pairs, and
    each point is evaluated once.

    `held_out` is the share of each episode, at its end, that is held out for early stopping: functions are judged on
    it during training, the best ones there are kept, and training ends when they no longer improve there.

    >>> TimeSeries(jnp.zeros((1000, 3)), length=10).shape
    (3,)
    >>> TimeSeries([np.zeros((50, 64, 64), np.uint8), np.zeros((80, 64, 64), np.uint8)], n_stack=2).shape
    (2, 64, 64)
    >>> len(TimeSeries(np.zeros((1000, 3)), held_out=0.1).held_out.episodes[0])
    100
    """

    points: Rows
    view: Callable[[Array], Array] | None
    host: HostData[list[np.ndarray]] = eqx.field(static=True)
    ends: Int[Array, " episodes"]
    """The number of clips in each episode and all before it."""
    shifts: Int[Array, " episodes"]
    """The number of rows in all episodes before that no clip starts with."""
    length: int = eqx.field(static=True)
    n_stack: int = eqx.field(static=True)
    apart: "TimeSeries | None"
    """The clips of the held-out rows; None if there are none."""
    draws = Pairs

    def __init__(
        self,
        series: Any,
        length: int | None = None,
        *,
        n_stack: int = 1,
        view: Callable[[Array], Array] | None = None,
        held_out: float = 0.0,
    ):
        episodes, ends = _split(episodes_of(series), held_out, positive_int("n_stack", n_stack))
        longest = min(len(end) for end in ends) - n_stack + 1 if ends else 0
        self.apart = (
            TimeSeries(ends, min(longest, length or DEFAULT_LENGTH), n_stack=n_stack, view=view) if ends else None
        )
        if length is None:
            length = max(2, min(DEFAULT_LENGTH, *(len(episode) - n_stack + 1 for episode in episodes)))
        for name, value, least, why in (("length", length, 2, ", one pair of points"), ("n_stack", n_stack, 1, "")):
            if not isinstance(value, numbers.Integral) or value < least:
                raise ValueError(f"{name} must be a whole number of at least {least}{why}; got {value}")
        self.length, self.n_stack, self.view = int(length), int(n_stack), view
        rows = self.length + self.n_stack - 1
        for number, episode in enumerate(episodes):
            if episode.ndim < 2 or len(episode) < rows:
                which = f"episode {number}" if len(episodes) > 1 else "series"
                joined = f" of n_stack = {n_stack}" if self.n_stack > 1 else ""
                raise ValueError(
                    f"{which} must be an array (time, features…) of at least {rows} rows, for length = {length} "
                    f"points{joined}; got shape {episode.shape}. One number a time is series[:, None]; shorter clips "
                    "are length=…"
                )
        self.points, self.host = rows_of(episodes), HostData(lambda: [_windows(one, n_stack) for one in episodes])
        counts = np.array([len(episode) - rows + 1 for episode in episodes])
        self.ends = jnp.asarray(np.cumsum(counts), jnp.int32)
        self.shifts = jnp.asarray((rows - 1) * np.arange(len(episodes)), jnp.int32)

    @property
    def held_out(self) -> "TimeSeries | None":
        """The clips of the held-out rows; None if there are none."""
        return self.apart

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""
        first, *rest = jax.eval_shape(self._viewed, jnp.zeros(self.points.shape)).shape
        return (self.n_stack * first, *rest)

    @property
    def episodes(self) -> list[Float[np.ndarray, "_ d"]] | None:
        """All points, in float64; None if they are images, are made by `view`, or stay in files."""
        if self.view is not None or len(self.points.shape) > 1 or self.points.stays_on_disk:
            return None
        return self.host.data

    @property
    def in_order(self) -> Iterator[Pairs]:
        """All pairs, in stretches of one size; pairs of weight zero fill up the last stretch of an episode."""
        ends = np.asarray(self.ends)
        begins, pairs = np.append(0, ends[:-1]) + np.asarray(self.shifts), np.diff(ends, prepend=0) + self.length - 2
        size = int(np.clip(pairs.sum() // MIN_STRETCHES, 1, MAX_STRETCH_PAIRS))
        for begin, count in zip(begins.tolist(), pairs.tolist(), strict=True):
            last = begin + count + self.n_stack - 1
            for start in range(0, count, size):
                yield self._stretch(begin + start, last, size)

    def _stretch(self, start: int, last: int, size: int) -> Pairs:
        """`size` pairs from row `start` on; those beyond row `last`, where the episode ends, have weight zero."""
        rows = start + np.arange(size + self.n_stack)
        x = self._points(jnp.asarray(np.minimum(rows, last))[None])[0]
        index = jnp.arange(size)
        return Pairs(x, index, index + 1, jnp.asarray(rows[self.n_stack :] <= last, x.dtype))

    def sample(self, key: PRNGKeyArray, size: int) -> Pairs:
        """Pairs of successive points inside `size` clips, of weight one."""
        chosen = jax.random.randint(key, (size,), 0, self.ends[-1])
        starts = chosen + self.shifts[jnp.searchsorted(self.ends, chosen, side="right")]
        x = self._points(starts[:, None] + jnp.arange(self.length + self.n_stack - 1))
        index = jnp.arange(size * self.length).reshape(size, self.length)
        weights = jnp.ones(size * (self.length - 1), x.dtype)
        return Pairs(x.reshape(-1, *x.shape[2:]), index[:, :-1].ravel(), index[:, 1:].ravel(), weights)

    def _points(self, times: Int[Array, "clips rows"]) -> Float[Array, "clips points ..."]:
        """The points made of the rows at these times, which are successive in each clip."""
        rows = jax.vmap(jax.vmap(self._viewed))(self.points.at(times).astype(jnp.zeros(()).dtype))
        return jax.vmap(lambda clip: joined(clip, self.n_stack))(rows)

    def _viewed(self, row: Float[Array, "..."]) -> Float[Array, "..."]:
        """What `view` makes of a row; images have a channel axis."""
        return as_images(row if self.view is None else self.view(row))


def as_images(row: Float[Array, "..."]) -> Float[Array, "..."]:
    """Add a channel axis to an image (h, w), which becomes (1, h, w); other rows stay as they are."""
    return row[None] if row.ndim == 2 else row


def joined(rows: Float[Array, "rows ..."], n_stack: int) -> Float[Array, "points ..."]:
    """Every `n_stack` successive rows as one point, joined along their first axis.

    >>> joined(jnp.array([[1.0], [2.0], [3.0]]), 2)
    Array([[1., 2.],
           [2., 3.]], dtype=float32)
    """
    points = len(rows) - n_stack + 1
    return jnp.concatenate([rows[shift : shift + points] for shift in range(n_stack)], axis=1)


def episodes_of(series: Any) -> list[Any]:
    """A list of arrays whose rows have one shape, from one array or from several."""
    several = isinstance(series, list | tuple) and all(_ndim(one) >= 2 for one in series)
    given: list[Any] = list(series) if several else [series]
    for one in given:
        check_dense("series", one)
    episodes = [one if hasattr(one, "dtype") else as_array("series", one) for one in given]
    if not episodes or episodes[0].ndim == 0:
        came = "a single value" if episodes else "an empty list"
        raise ValueError(f"series must be an array (time, features…) or a list of such arrays; got {came}")
    for number, (one, other) in enumerate(itertools.pairwise(episodes)):
        if one.shape[1:] != other.shape[1:]:
            raise ValueError(
                f"all episodes must have rows of one shape; episode {number} has {one.shape[1:]} and episode "
                f"{number + 1} has {other.shape[1:]}"
            )
    return episodes


def judging_share(lengths: Sequence[int], n_stack: int) -> float:
    """The share to hold out of episodes of these lengths for early stopping; zero if that would be too few rows.

    >>> judging_share([200, 100], n_stack=2), judging_share([100], n_stack=2), judging_share([8] * 100, n_stack=2)
    (0.125, 0.0, 0.0)
    """
    rows = sum(rows_held_out(length, HELD_OUT_SHARE, n_stack) for length in lengths)
    return HELD_OUT_SHARE if rows >= MIN_HELD_OUT_ROWS else 0.0


def rows_held_out(length: int, share: float, n_stack: int) -> int:
    """How many rows of an episode this share of it is; zero if they are too few for a pair."""
    rows = int(share * length)
    return rows if rows > n_stack else 0


def check_share(share: Any) -> float:
    """The share to hold out as a float, refused unless it is at least 0 and below 1."""
    if isinstance(share, bool) or not isinstance(share, numbers.Real) or not 0 <= float(share) < 1:
        raise ValueError(f"held_out must be a share of each episode, at least 0 and below 1; got {share!r}")
    return float(share)


def _split(episodes: list[Any], share: float, n_stack: int) -> tuple[list[Any], list[Any]]:
    """Split off this share of rows at the end of each episode: the beginnings, and the ends with enough rows."""
    share = check_share(share)
    apart = [rows_held_out(len(episode), share, n_stack) for episode in episodes]
    both = list(zip(episodes, apart, strict=True))
    if share and not any(apart):
        raise ValueError(
            f"held_out = {share:g} is less than {n_stack + 1} rows of any episode, the fewest that make a pair; the "
            f"longest episode has {max(map(len, episodes))}"
        )
    return [rows[: len(rows) - end] for rows, end in both], [rows[len(rows) - end :] for rows, end in both if end]


def _ndim(one: Any) -> int:
    """The number of axes of an array, or of what can be made one."""
    return one.ndim if hasattr(one, "ndim") else as_array("series", one).ndim


def _windows(episode: Any, n_stack: int) -> Float[np.ndarray, "points _"]:
    """The same points as `joined` makes, in NumPy and float64."""
    rows = np.asarray(episode, np.float64)
    if n_stack == 1:
        return rows
    points = len(rows) - n_stack + 1
    return np.concatenate([rows[shift : shift + points] for shift in range(n_stack)], axis=1)

"""Fresh samples: batches that training never saw, and means over them with their scatter."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from eigenax.core.precision import Precision, full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.progress import progress_track
from eigenax.sources.base import Source

BATCHES = 64
"""Standard errors are the scatter between this many batches."""
GROUPS = 16
"""Evenly spread points are one lattice, and the scatter is that between so many parts of it: rather too large than
too small."""
PIECES = {"cpu": 512}
"""Points taken at once: as many as fit the cache of a processor; other devices take more."""
PIECE = 8192
Parts = tuple[Array, ...]


@dataclasses.dataclass(frozen=True)
class FreshSamples:
    """Batches of a source that depend on seed and purpose alone.

    `evenly` spread points serve means over single points, with far less scatter; independent ones serve all. A
    function that is mapped is compiled again unless it is the same object: what it depends on are operands.
    """

    source: Source
    seed: int
    purpose: Stream
    samples: int
    progress: bool = False
    evenly: bool = False
    precision: Precision = "float32"

    def map(self, function: Callable[..., Parts], *operands: Any) -> list[np.ndarray]:
        """A compiled function of every batch and the operands, or its mean over every part of a lattice, stacked in
        float64."""
        groups = GROUPS if self.evenly else BATCHES
        edges = [round(self._count * group / groups) for group in range(groups + 1)]
        with precision_scope(self.precision), full_precision():
            each = self._each(function, operands)
            rows = [_mean(itertools.islice(each, stop - start)) for start, stop in itertools.pairwise(edges)]
        return [np.stack(parts) for parts in zip(*rows, strict=True)]

    def mean(self, function: Callable[..., Parts], *operands: Any) -> list[np.ndarray]:
        """The mean over all points, of which few are held at a time."""
        with precision_scope(self.precision), full_precision():
            return _mean(self._each(function, operands))

    @property
    def _size(self) -> int:
        """Points in a batch."""
        least, most = self.samples // BATCHES, PIECES.get(jax.default_backend(), PIECE)
        return max(4, min(self.samples // GROUPS, most) if self.evenly else least)

    @property
    def _count(self) -> int:
        """How many batches there are, at least one in every group."""
        return max(GROUPS, self.samples // self._size) if self.evenly else BATCHES

    def _each(self, function: Callable[..., Parts], operands: tuple[Any, ...]) -> Iterator[Parts]:
        """The function of every batch."""
        key = stream(self.seed, self.purpose)
        for index in progress_track(range(self._count), "measuring", show=self.progress):
            yield _of_batch(function, self.source, self._size, self.evenly, key, jnp.asarray(index), operands)


@eqx.filter_jit
def _of_batch(
    function: Callable[..., Parts],
    source: Source,
    size: int,
    evenly: bool,
    key: Array,
    index: Int[Array, ""],
    operands: tuple[Any, ...],
) -> Parts:
    """A function of one batch, compiled once for all samples of one size."""
    if evenly:
        return function(source.sample_qmc(key, size, index), *operands)
    return function(source.sample(jax.random.fold_in(key, index), size), *operands)


def _mean(rows: Iterator[Parts]) -> list[np.ndarray]:
    """Their mean. Sums stay on the device: matrices of many functions are slow to move."""
    total, count = next(rows), 1
    for parts in rows:
        total, count = jax.tree.map(jnp.add, total, parts), count + 1
    return [np.asarray(part, np.result_type(part.dtype, np.float64)) / count for part in total]

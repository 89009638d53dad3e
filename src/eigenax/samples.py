"""Fresh samples: batches that training never saw, and means over them whose scatter gives standard errors."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from eigenax.core.batch import Batch
from eigenax.core.compiled import compiled
from eigenax.core.precision import Precision, full_precision, precision_scope
from eigenax.core.random_streams import Stream, stream
from eigenax.progress import progress_track
from eigenax.sources.base import Source
from eigenax.sources.drawn import drawn

BATCHES = 64
"""Independent points are drawn in this many batches, whose scatter gives standard errors."""
GROUPS = 16
"""A lattice is cut into this many parts. Standard errors from their scatter are rather too large than too small."""
LATTICE_BATCH = {"cpu": 512}
"""The most points of a lattice evaluated at once, by device: as many as fit the cache of a processor."""
OTHER_LATTICE_BATCH = 8192
"""The same for all other devices."""
Parts = tuple[Array, ...]
"""What a mapped function returns for one batch: several arrays."""


@dataclasses.dataclass(frozen=True)
class FreshSamples:
    """Batches of a source that depend on `seed` and `purpose` alone.

    With `evenly`, the points are a lattice: means over single points then scatter far less. Independent points serve
    every kind of mean. A mapped function is compiled once for each function object: pass what it depends on as operands
    instead of making a new function.
    """

    source: Source
    seed: int
    purpose: Stream
    samples: int
    progress: bool = False
    evenly: bool = False
    precision: Precision = "float32"

    def map(self, function: Callable[..., Parts], *operands: Any) -> list[np.ndarray]:
        """The values of a compiled function(batch, *operands), stacked in float64.

        One row for each batch, or, of a lattice, one for each of its parts, with the mean over it.
        """
        groups = GROUPS if self.evenly else BATCHES
        edges = [round(self._count * group / groups) for group in range(groups + 1)]
        with precision_scope(self.precision), full_precision():
            each = self._each(function, operands)
            rows = [_mean(itertools.islice(each, stop - start)) for start, stop in itertools.pairwise(edges)]
        return [np.stack(parts) for parts in zip(*rows, strict=True)]

    def mean(self, function: Callable[..., Parts], *operands: Any) -> list[np.ndarray]:
        """The mean of function(batch, *operands) over all batches, of which one is held at a time."""
        with precision_scope(self.precision), full_precision():
            return _mean(self._each(function, operands))

    @property
    def _size(self) -> int:
        """The number of points in a batch."""
        least, most = self.samples // BATCHES, LATTICE_BATCH.get(jax.default_backend(), OTHER_LATTICE_BATCH)
        return max(4, min(self.samples // GROUPS, most) if self.evenly else least)

    @property
    def _count(self) -> int:
        """The number of batches; of a lattice, at least one for every part."""
        return max(GROUPS, self.samples // self._size) if self.evenly else BATCHES

    def _each(self, function: Callable[..., Parts], operands: tuple[Any, ...]) -> Iterator[Parts]:
        """The values of the function for each batch in turn."""
        key = stream(self.seed, self.purpose)
        for index in progress_track(range(self._count), "measuring", show=self.progress):
            # The points come from a program of their own, which is compiled once whatever functions they serve.
            batch = drawn(self.source, key, self._size, self.evenly, jnp.asarray(index))
            yield _of_batch(function, batch, operands)


@compiled
def _of_batch(function: Callable[..., Parts], batch: Batch, operands: tuple[Any, ...]) -> Parts:
    """The value of a function for one batch; one compiled program serves all batches of a size, whatever the source."""
    return function(batch, *operands)


def _mean(rows: Iterator[Parts]) -> list[np.ndarray]:
    """The mean of the rows. Sums stay on the device: matrices of many functions are slow to move."""
    total, count = next(rows), 1
    for parts in rows:
        total, count = jax.tree.map(jnp.add, total, parts), count + 1
    return [np.asarray(part, np.result_type(part.dtype, np.float64)) / count for part in total]

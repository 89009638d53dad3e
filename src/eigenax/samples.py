"""Fresh samples: batches that training never saw, and means over them with their scatter."""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from eigenax.core.batch import Batch
from eigenax.core.precision import Precision, counting_in, full_precision
from eigenax.sources.base import Source
from eigenax.training.progress import progress_track

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

    `evenly` spread points serve means over single points, with far less scatter; independent ones serve all.
    """

    source: Source
    seed: int
    purpose: int
    samples: int
    progress: bool = False
    evenly: bool = False
    precision: Precision = "float32"

    def map(self, function: Callable[[Batch], Parts]) -> list[np.ndarray]:
        """A compiled function of every batch, or its mean over every part of a lattice, stacked in float64."""
        groups = GROUPS if self.evenly else BATCHES
        rows = [self._mean(function, range(*edges)) for edges in itertools.pairwise(self._edges(groups))]
        return [np.stack(parts) for parts in zip(*rows, strict=True)]

    def mean(self, function: Callable[[Batch], Parts]) -> list[np.ndarray]:
        """The mean over all points, of which few are held at a time."""
        return self._mean(function, range(self._count))

    @property
    def _size(self) -> int:
        """Points in a batch."""
        least, most = self.samples // BATCHES, PIECES.get(jax.default_backend(), PIECE)
        return max(4, min(self.samples // GROUPS, most) if self.evenly else least)

    @property
    def _count(self) -> int:
        """How many batches there are, at least one in every group."""
        return max(GROUPS, self.samples // self._size) if self.evenly else BATCHES

    def _edges(self, groups: int) -> list[int]:
        return [round(self._count * group / groups) for group in range(groups + 1)]

    def _mean(self, function: Callable[[Batch], Parts], indices: range) -> list[np.ndarray]:
        total: Any = None
        with counting_in(self.precision), full_precision():
            key = jax.random.fold_in(jax.random.key(self.seed), self.purpose)
            for index in progress_track(indices, "measuring", show=self.progress):
                parts = self._compiled(function)(self.source, key, jnp.asarray(index))
                # Sums stay on the device: matrices of many functions are slow to move.
                total = parts if total is None else jax.tree.map(jnp.add, total, parts)
        return [np.asarray(part, np.float64) / len(indices) for part in total]

    def _compiled(self, function: Callable[[Batch], Parts]) -> Callable[..., Parts]:
        return _compiled(function, self._size, self.evenly)


@functools.lru_cache(maxsize=8)
def _compiled(function: Callable[[Batch], Parts], size: int, evenly: bool) -> Callable[..., Parts]:
    """Compiled with the source as an argument: its data must not become a constant of the program."""

    def of_batch(source: Source, key: Array, index: Int[Array, ""]) -> Parts:
        if evenly:
            return function(source.spread(key, size, index))
        return function(source.sample(jax.random.fold_in(key, index), size))

    return jax.jit(of_batch)

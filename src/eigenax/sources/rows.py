"""The rows of several series, one after the other: held in memory, or left in memory-mapped files."""

import itertools
import zlib
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from eigenax.checks import as_real, tell_of_rounding

NUMBERS_AT_ONCE = 2**24
"""Numbers of a file that are checked at once for NaN and infinity."""
CHECKSUM_ROWS = 256
"""Rows of each file that the checksum covers."""


class InMemory(eqx.Module):
    """Rows in the memory of the device; small integers keep their type, to save memory."""

    data: Shaped[Array, "rows ..."]
    stays_on_disk: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row."""
        return self.data.shape[1:]

    def at(self, times: Int[Array, "clips length"]) -> Shaped[Array, "clips length ..."]:
        """The rows at these times."""
        return self.data[times]


class _Files:
    """Memory-mapped arrays that compiled programs read, and that are therefore compared by identity, not by content."""

    def __init__(self, series: Sequence[np.ndarray]):
        self.series = tuple(series)
        kinds = {one.dtype for one in series}
        self.dtype = kinds.pop() if len(kinds) == 1 and _is_small(series[0]) else np.dtype(np.float32)
        self.firsts = np.cumsum([0, *(len(one) for one in series)])

    def checksum(self) -> list[int]:
        """Checksums of some rows of each file; all rows would take as long as a run."""
        each = (one[np.linspace(0, len(one) - 1, CHECKSUM_ROWS).astype(int)] for one in self.series)
        return [*self.firsts.tolist(), *(zlib.crc32(rows.tobytes()) for rows in each)]

    def read(self, times: Int[Array | np.ndarray, "clips length"]) -> np.ndarray:
        """Read clips of successive rows, each from one of the files."""
        clips = np.empty((*times.shape, *self.series[0].shape[1:]), self.dtype)
        for clip, start in zip(clips, np.asarray(times)[:, 0], strict=True):
            file = int(np.searchsorted(self.firsts, start, side="right")) - 1
            begin = int(start - self.firsts[file])
            clip[:] = self.series[file][begin : begin + len(clip)]
        return clips


class OnDisk(eqx.Module):
    """Rows of memory-mapped files, read when they are drawn; the files may be larger than the memory."""

    files: _Files = eqx.field(static=True)
    stays_on_disk: ClassVar[bool] = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row."""
        return self.files.series[0].shape[1:]

    def at(self, times: Int[Array, "clips length"]) -> Shaped[Array, "clips length ..."]:
        """The rows at these times, which are successive in each clip."""
        kind = jax.ShapeDtypeStruct((*times.shape, *self.shape), self.files.dtype)
        return jax.pure_callback(self.files.read, kind, times)


Rows = InMemory | OnDisk


def rows_of(series: Sequence[np.ndarray | Array]) -> Rows:
    """Join series whose rows have one shape, and refuse NaN and infinity.

    If one of the series is a memory-mapped file, all are read as they are drawn.
    """
    if any(isinstance(one, np.memmap) for one in series):
        files = [np.asarray(one) for one in series]
        for number, file in enumerate(files):
            _check_file(file, number)
            tell_of_rounding(f"series {number}", file)
        return OnDisk(_Files(files))
    if all(isinstance(one, np.ndarray) for one in series):  # JAX would compile a program for every set of lengths
        together = np.concatenate(series)
        return InMemory(jnp.asarray(together) if _is_small(together) else as_real("series", together))
    parts = [one if _is_small(one) else as_real("series", one) for one in series]
    return InMemory(jnp.concatenate([jnp.asarray(part) for part in parts]))


def _is_small(series: np.ndarray | Array) -> bool:
    return np.dtype(series.dtype) in {np.dtype(kind) for kind in (np.bool_, np.uint8, np.int8, np.uint16, np.int16)}


def _check_file(file: np.ndarray, number: int) -> None:
    """Refuse a file that holds anything but finite real numbers."""
    if not (np.issubdtype(file.dtype, np.number) or file.dtype == bool) or np.iscomplexobj(file):
        raise ValueError(f"series {number} must hold real numbers; its file holds {file.dtype}")
    if not np.issubdtype(file.dtype, np.floating):
        return
    piece = max(1, NUMBERS_AT_ONCE // max(1, int(np.prod(file.shape[1:]))))
    for start in itertools.count(0, piece):
        if start >= len(file):
            return
        if not (np.abs(file[start : start + piece]) <= np.finfo(np.float32).max).all():
            raise ValueError(
                f"series {number} contains NaN or infinity, or numbers beyond what float32 can hold, near row {start}; "
                "drop or fill those rows"
            )

"""Elapsed time, with the time of compilation measured separately."""

import time
from functools import cache
from typing import Any

import jax

COMPILATION_EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
}
"""The events by which JAX reports that it traced, lowered or compiled a function."""


class _CompilationTimes:
    """The intervals in which JAX traced, lowered or compiled; nested intervals count once."""

    def __init__(self):
        self.intervals: list[tuple[float, float]] = []

    def record(self, event: str, duration_secs: float, **_: Any) -> None:
        """Record an interval; JAX calls this when the interval ends."""
        if event in COMPILATION_EVENTS:
            end = time.perf_counter()
            while self.intervals and self.intervals[-1][0] >= end - duration_secs:
                self.intervals.pop()
            self.intervals.append((end - duration_secs, end))

    def seconds_since(self, begin: float) -> float:
        """Seconds of compilation after the time `begin`."""
        return sum(end - max(begin, start) for start, end in self.intervals if end > begin)


@cache
def _compilation_times() -> _CompilationTimes:
    """The compilation times of this process, which JAX reports from the first call on."""
    times = _CompilationTimes()
    jax.monitoring.register_event_duration_secs_listener(times.record)
    return times


class Clock:
    """A stopwatch that runs from its creation."""

    def __init__(self):
        self._compilation, self._begin = _compilation_times(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Elapsed seconds without compilation, and the seconds of compilation."""
        elapsed = time.perf_counter() - self._begin
        compiling = min(self._compilation.seconds_since(self._begin), elapsed)
        return elapsed - compiling, compiling

"""Seconds, and how many of them the compiler took."""

import time
from functools import cache
from typing import Any

import jax

COMPILING = {
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "/jax/core/compile/backend_compile_duration",
}


class _Compiler:
    """Intervals in which something was traced, lowered or compiled; one inside another counts once."""

    def __init__(self):
        self.intervals: list[tuple[float, float]] = []

    def record(self, event: str, duration_secs: float, **_: Any) -> None:
        """Told of every interval when it ends."""
        if event in COMPILING:
            end = time.perf_counter()
            while self.intervals and self.intervals[-1][0] >= end - duration_secs:
                self.intervals.pop()
            self.intervals.append((end - duration_secs, end))

    def seconds_since(self, begin: float) -> float:
        """How long it compiled after a time."""
        return sum(end - max(begin, start) for start, end in self.intervals if end > begin)


@cache
def _compiler() -> _Compiler:
    """The one that listens in this process."""
    compiler = _Compiler()
    jax.monitoring.register_event_duration_secs_listener(compiler.record)
    return compiler


class Clock:
    """Runs from when it is made."""

    def __init__(self):
        self._compiler, self._begin = _compiler(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Seconds that were not the compiler's, and its own."""
        elapsed = time.perf_counter() - self._begin
        compiling = min(self._compiler.seconds_since(self._begin), elapsed)
        return elapsed - compiling, compiling

"""What the compiler takes, told apart from what the benchmarks measure."""

from typing import Any

import jax


class Compiler:
    """Adds up what jax says it spends on tracing and compiling."""

    def __init__(self):
        self.seconds = 0.0
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event: str, duration_secs: float, **_: Any) -> None:
        if event.startswith("/jax/core/compile/"):
            self.seconds += duration_secs

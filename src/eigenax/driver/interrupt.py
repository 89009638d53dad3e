"""Ctrl-C takes effect between two steps instead of in the middle of one."""

import contextlib
import signal
import threading
from collections.abc import Iterator


class Interrupt:
    """Whether the user has asked the run to stop."""

    requested = False


@contextlib.contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Turn the first Ctrl-C into a request that the loop sees after its step; the second one stops at once.

    Only the main thread can handle signals: in other threads nothing is changed.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    previous = signal.getsignal(signal.SIGINT)

    def request(signum, frame):
        interrupt.requested = True
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, request)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, previous)

"""Ctrl-C on the command line, where no training loop handles it."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def end_on_interrupt(folder: Path | None = None) -> Iterator[None]:
    """End the program at once on Ctrl-C, with one sentence; once `folder` holds a run, it says how to resume that.

    This is safe at any moment, since files are written atomically: each is complete or absent. An exception would not
    be safe: it could be raised inside an import or a compilation, which do not survive it. The training loop handles
    Ctrl-C itself.
    """

    from eigenax.lab.experiments.folder import SETTINGS

    def end(signum, frame):
        restore_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
        message = f"stopped; {resume_hint(folder)}" if folder and (folder / SETTINGS).exists() else "stopped"
        os.write(2, f"{restore_cursor}\neigenax: {message}\n".encode())
        os._exit(130)

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield
        return
    previous = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def resume_hint(folder: Path) -> str:
    """How to go on with the run in a folder."""
    return f"go on with `eigenax resume {folder}`"

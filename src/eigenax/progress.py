"""A bar for a person while something is looked through, in a terminal or a notebook."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress

Item = TypeVar("Item")

_SHOWN: list[Progress] = []
"""Bars that are shown now; lines of the last one have the fields `speed` and `values`."""


def progress_track(items: Iterable[Item], label: str, *, show: bool = True, total: int | None = None) -> Iterator[Item]:
    """The items one by one, with a bar that disappears when they are done; of items without length give a total.

    While another bar is shown it is a line of that. By itself it stays in a notebook, which would keep an empty block
    of it, and is not shown in a file or a pipe, which would keep an empty line.
    """
    return _tracked(items, label, total) if show else iter(items)


def _tracked(items: Iterable[Item], label: str, total: int | None) -> Iterator[Item]:
    with contextlib.ExitStack() as stack:
        outer, console = _SHOWN[-1] if _SHOWN else None, error_console()
        seen, transient = console.is_interactive or console.is_jupyter, not console.is_jupyter
        bar = outer or stack.enter_context(shown(Progress(console=console, transient=transient, disable=not seen)))
        line = bar.add_task(label, total=total, speed="", values="")
        try:
            yield from bar.track(items, total, task_id=line)
        finally:
            bar.remove_task(line) if outer else None


@contextlib.contextmanager
def shown(bar: Progress) -> Iterator[Progress]:
    """A bar while it is shown."""
    _SHOWN.append(bar)
    try:
        with bar:
            try:
                yield bar
            finally:
                bar.refresh()  # a notebook keeps whatever was drawn last
                bar.console.quiet = bar.console.is_jupyter  # or rich would add an empty block there
    finally:
        _SHOWN.remove(bar)


def error_console() -> Console:
    """Where progress is shown: not among the results."""
    return Console(stderr=True)

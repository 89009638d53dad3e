"""Progress bars in a terminal or a notebook."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress

Item = TypeVar("Item")

_SHOWN: list[Progress] = []
"""Bars that are shown now. A further task becomes a line of the last one, whose lines have the fields `speed` and
`values`."""


def progress_track(items: Iterable[Item], label: str, *, show: bool = True, total: int | None = None) -> Iterator[Item]:
    """Iterate over the items, with a bar that disappears at the end; give `total` for items without a length.

    While another bar is shown, this one is a line of it. Otherwise it stays in a notebook, where removing it would
    leave an empty block, and is not shown in a file or a pipe, where it would leave an empty line.
    """
    return _tracked(items, label, total) if show else iter(items)


def _tracked(items: Iterable[Item], label: str, total: int | None) -> Iterator[Item]:
    """The items, with a line of the bar that is shown or a bar of their own."""
    with contextlib.ExitStack() as stack:
        outer, console = _SHOWN[-1] if _SHOWN else None, error_console()
        visible, transient = console.is_interactive or console.is_jupyter, not console.is_jupyter
        bar = outer or stack.enter_context(shown(Progress(console=console, transient=transient, disable=not visible)))
        line = bar.add_task(label, total=total, speed="", values="")
        try:
            yield from bar.track(items, total, task_id=line)
        finally:
            bar.remove_task(line) if outer else None


@contextlib.contextmanager
def shown(bar: Progress) -> Iterator[Progress]:
    """Show a bar, and let further tasks be lines of it."""
    _SHOWN.append(bar)
    try:
        with bar:
            try:
                yield bar
            finally:
                bar.refresh()  # a notebook keeps what was drawn last
                bar.console.quiet = bar.console.is_jupyter  # otherwise rich adds an empty block there
    finally:
        _SHOWN.remove(bar)


def error_console() -> Console:
    """The console of progress bars: standard error, so that they do not mix with results."""
    return Console(stderr=True)

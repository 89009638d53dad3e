"""A bar for a person while something is looked through, in a terminal or a notebook."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track

Item = TypeVar("Item")


def progress_track(items: Iterable[Item], label: str, *, show: bool = True, total: int | None = None) -> Iterator[Item]:
    """The items one by one, with a bar that disappears when they are done; of items without length give a total."""
    return iter(track(items, label, total=total, console=error_console(), transient=True, disable=not show))


def error_console() -> Console:
    """Where progress is shown: not among the results."""
    return Console(stderr=True)

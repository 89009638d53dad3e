"""A live line for a person: step, speed, time left, eigenvalues; in a terminal or a notebook."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
    track,
)

from eigenax.training.loop import Callback, Moment

SHOWN = 3
Item = TypeVar("Item")


def format_values(values: list[float], shown: int = SHOWN) -> str:
    """A few numbers, and how many more there are.

    >>> format_values([1.0, 2.0, 3.0], shown=2)
    '1 2 … (3)'
    """
    text = " ".join(f"{value:.3g}" for value in values[:shown])
    return text if len(values) <= shown else f"{text} … ({len(values)})"


@contextlib.contextmanager
def progress_bar(label: str, *, show: bool = True, console: Console | None = None) -> Iterator[Callback]:
    """A callback for the loop that keeps one line up to date while the block lasts."""
    if not show:
        yield lambda moment: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=12),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("[cyan]{task.fields[values]}"),
    )
    with Progress(*columns, console=console or _console()) as progress:
        task = progress.add_task(label, total=None, speed="compiling", values="")
        first: list[Moment] = []

        def update(moment: Moment) -> None:
            first.append(moment) if not first else None
            elapsed = moment.seconds - first[0].seconds
            speed = f"{(moment.step - first[0].step) / elapsed:.0f} steps/s" if elapsed > 0 else "compiling"
            values = format_values(moment.metrics.get("eigenvalues", []))
            progress.update(task, completed=moment.step, total=moment.steps, speed=speed, values=values)

        try:
            yield update
        finally:
            progress.refresh()  # a notebook would keep whatever was drawn last


def progress_track(items: Iterable[Item], label: str, *, show: bool = True, total: int | None = None) -> Iterator[Item]:
    """The items one by one, with a bar that disappears when they are done; of items without length give a total."""
    return iter(track(items, label, total=total, console=_console(), transient=True, disable=not show))


def _console() -> Console:
    return Console(stderr=True)

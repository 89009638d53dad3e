"""A live line for a person: step, speed, time left, eigenvalues; in a terminal or a notebook."""

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from eigenax.driver.snapshot import Callback, Snapshot
from eigenax.progress import error_console, shown

SHOWN = 3


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
        yield lambda snapshot: None
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
    with shown(Progress(*columns, console=console or error_console())) as progress:
        task = progress.add_task(label, total=None, speed="compiling", values="")
        first: list[Snapshot] = []

        def update(snapshot: Snapshot) -> None:
            first.append(snapshot) if not first else None
            elapsed = snapshot.seconds - first[0].seconds
            speed = f"{(snapshot.step - first[0].step) / elapsed:.0f} steps/s" if elapsed > 0 else "compiling"
            values = format_values(snapshot.metrics.get("eigenvalues", []))
            total = snapshot.step if snapshot.stop_reason else snapshot.max_steps
            progress.update(task, completed=snapshot.step, total=total, speed=speed, values=values)

        yield update

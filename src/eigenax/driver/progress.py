"""A progress line in a terminal or a notebook: step, speed, time left and eigenvalues."""

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

MAX_VALUES = 3
"""How many eigenvalues the line shows."""


def format_values(values: list[float], shown: int = MAX_VALUES) -> str:
    """The first few numbers, and the number of all if there are more.

    >>> format_values([1.0, 2.0, 3.0], shown=2)
    '1 2 … (3)'
    """
    text = " ".join(f"{value:.3g}" for value in values[:shown])
    return text if len(values) <= shown else f"{text} … ({len(values)})"


@contextlib.contextmanager
def progress_bar(label: str, *, show: bool = True, console: Console | None = None) -> Iterator[Callback]:
    """Show a progress line during the block, and yield the callback that updates it.

    Where a network is trained, its values are those of batches, before the functions are rotated and measured.
    """
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

"""Metrics of a run as JSON lines, one line per log point."""

import json
from pathlib import Path
from typing import Any

from eigenax.io.files import explained, write_atomically


def append_metrics(path: Path, row: dict[str, Any]) -> None:
    """Append one row."""
    with explained(path), path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """All rows; a last line that a crash cut short is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def rewind_metrics(path: Path, step: int) -> None:
    """Delete the rows after `step`, from which a run resumes."""
    rows = [row for row in read_metrics(path) if row["step"] <= step]
    if path.exists():
        write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows))

"""The files of `eigenax slow`: read, checked, cut into clips, and their features written."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eigenax.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from eigenax.lab.datasets.video import Recording
    from eigenax.modes import Modes
    from eigenax.sources.time_series import TimeSeries

IN_MEMORY = 2**30
"""Total bytes of all files up to which they are held in memory, which is faster than reading them repeatedly."""


def read_recordings(files: Sequence[str], cache: Path, size: int, progress: bool) -> "list[Recording]":
    """Open all files, and refuse files that never change or whose frames differ in size.

    Frames that have to be decoded or scaled down are kept in `cache`, with their longer side of `size` pixels.
    """
    from eigenax.lab.datasets.video import read_recording

    found = []
    for number, file in enumerate(files):
        recording = read_recording(Path(file), cache / str(number), size, progress)
        if recording.changes and progress:
            print(f"{Path(file).name}: {recording.changes}", file=sys.stderr)
        check_rows(recording.rows, file)
        found.append(recording)
    for file, recording in zip(files, found, strict=True):
        if recording.rows.shape[1:] != found[0].rows.shape[1:]:
            shapes = " and ".join(str(one.rows.shape[1:]) for one in (found[0], recording))
            raise InputError(f"all files must have frames of one size; {files[0]} and {file} have {shapes}")
    return found


def n_stack_of(rows: "np.ndarray") -> int:
    """How many successive rows make a point: two images, or one row of numbers."""
    return 2 if rows.ndim == 3 else 1


def check_rows(rows: "np.ndarray", file: str) -> None:
    """Refuse rows that contain NaN or infinity, and rows that are all equal."""
    import numpy as np

    changes, pieces = False, max(1, 2**22 // max(1, int(np.prod(rows.shape[1:]))))
    for start in range(0, len(rows), pieces):
        piece = np.asarray(rows[start : start + pieces])
        if np.issubdtype(piece.dtype, np.floating) and not np.isfinite(piece).all():
            row = start + int(np.argmin(np.isfinite(piece).reshape(len(piece), -1).all(1)))
            raise InputError(f"{file} contains NaN or infinity in frame {row}, counted from 0; fill or cut it out")
        changes = changes or bool((piece != rows[0]).any())
    if not changes:
        raise InputError(
            f"{file} never changes: all of its {len(rows)} frames are equal, and nothing in it is slow or fast"
        )


def beginnings(files: Sequence[str], series: "list[np.ndarray]", held_out: float, length: int) -> list[int]:
    """How many rows of each file are learned from: all but the share held out, and enough for a clip."""
    needed = length + n_stack_of(series[0]) - 1
    ends = [len(rows) - int(held_out * len(rows)) for rows in series]
    for file, rows, end in zip(files, series, ends, strict=True):
        if end < needed:
            raise InputError(
                f"{file} has {len(rows)} frames, {end} of them to learn from, and a clip takes {needed}: "
                "give a longer one, or a smaller --length or --held-out"
            )
    return ends


def clips_of(files: Sequence[str], seen: "list[np.ndarray]", length: int) -> "TimeSeries":
    """Clips of this length, from the part of the files to learn from."""
    import numpy as np

    from eigenax.sources.time_series import TimeSeries, judging_share

    n_stack = n_stack_of(seen[0])
    small = n_stack == 1 or sum(rows.nbytes for rows in seen) < IN_MEMORY
    rows = [np.array(rows) if small else rows for rows in seen]
    if n_stack == 1:
        return TimeSeries(rows, length=2)
    share = judging_share([len(one) for one in rows], n_stack)
    try:
        return TimeSeries(rows, length, n_stack=n_stack, held_out=share)
    except ValueError as error:  # less is left than a clip takes, of what is not held out to judge the training
        raise InputError(f"{', '.join(files)}: {error}; give a longer one, or a smaller --length") from error


def save_features(modes: "Modes", series: "list[np.ndarray]", path: Path, progress: bool) -> "list[np.ndarray]":
    """Compute the features of every file, and save all of them as one array."""
    import io

    import numpy as np

    from eigenax.io.files import write_atomically
    from eigenax.over_time import features_of

    n_stack = n_stack_of(series[0])
    features = [features_of(modes, rows, n_stack=n_stack, progress=progress) for rows in series]
    content = io.BytesIO()
    np.save(content, np.concatenate(features))
    write_atomically(path, content.getvalue())
    return features

"""Frames of a random agent that plays Atari games, in files that are mapped into memory."""

import concurrent.futures
import difflib
import itertools
import multiprocessing
import os
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np

from eigenax.errors import InputError, RunError
from eigenax.io.files import explained, locked, make_folder, write_atomically
from eigenax.lab.datasets.gameplay import KINDS, Gameplay
from eigenax.progress import progress_track

STREAM = 2500
"""Number of steps in a stream, which begins with a fresh game and is written to the files as a whole."""
DONE = "done.txt"
"""The file that says which gameplay a folder holds, and which streams of it are complete."""


def gameplay(game: str, steps: int, folder: Path, *, seed: int = 0, progress: bool = False) -> Gameplay:
    """This many steps of a random agent: 84×84 grey pixels of one in four frames, each action repeated four times.

    They are read from `folder`, or first collected into it, on all cores; the frames do not depend on the number of
    cores. An interrupted collection is continued. The vector environment of ale-py is not used, since it does not give
    the console's memory.
    """
    check_game(game)
    make_folder(folder)
    with locked(folder):
        done = _complete_streams(folder, f"{game} {steps} {seed}", steps)
        missing = [stream for stream in range(-(-steps // STREAM)) if stream not in done]
        if missing:
            _collect(game, steps, seed, folder, missing, progress)
    return Gameplay(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in KINDS))


def check_game(game: str) -> None:
    """Raise `InputError` unless ale-py is installed and has the game; the error names games with similar names."""
    try:
        from ale_py import roms
    except ImportError as error:
        raise InputError("Atari games need the extra eigenax[atari]: pip install 'eigenax[atari]'") from error
    known = roms.get_all_rom_ids()
    if game not in known:
        close = difflib.get_close_matches(game, known, 3, 0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; there are {', '.join(sorted(known))}"
        raise InputError(f"--game: there is no Atari game {game!r}{hint}")


def _complete_streams(folder: Path, about: str, steps: int) -> set[int]:
    """Which streams the folder's files already hold; the files are created if there are none."""
    record = folder / DONE
    if not record.exists():
        with explained(folder):
            for name, (kind, shape) in KINDS.items():
                np.lib.format.open_memmap(folder / f"{name}.npy", "w+", kind, (steps, *shape)).flush()
                _reserve_space(folder / f"{name}.npy")
        write_atomically(record, about + "\n")
    kept, *streams = record.read_text().splitlines()
    if kept != about:
        raise RunError(f"{folder} holds other gameplay, {kept}, not {about}; give another folder, or delete it")
    return set(map(int, streams))


def _reserve_space(path: Path) -> None:
    """Reserve a file's space on the disk: writing to a mapped file on a full disk would kill the process."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _collect(game: str, steps: int, seed: int, folder: Path, missing: list[int], progress: bool) -> None:
    """Play the missing streams, several at a time in processes of their own, and record which are complete."""
    from eigenax.lab.datasets.atari_player import play

    kept = [np.lib.format.open_memmap(folder / f"{name}.npy", "r+") for name in KINDS]
    lengths = [min(STREAM, steps - stream * STREAM) for stream in missing]
    with players(len(missing)) as pool:
        played = pool.map(play, itertools.repeat(game), lengths, itertools.repeat(seed), missing)
        shown = progress_track(played, f"playing {game}", show=progress, total=len(missing))
        try:
            for stream, part in zip(missing, shown, strict=True):
                for array, values in zip(kept, part, strict=True):
                    array[stream * STREAM : stream * STREAM + len(values)] = values
                    array.flush()
                with (folder / DONE).open("a") as record:
                    record.write(f"{stream}\n")
        except BrokenProcessPool as error:
            # What was played stays: only wrong input, of which nothing is left, empties a folder.
            kind = RunError if (folder / DONE).read_text().count("\n") > 1 else InputError
            raise kind(
                f"{game} cannot be played: the emulator ended. Some games are for two players only; or there is too "
                "little memory"
            ) from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def players(most: int) -> concurrent.futures.ProcessPoolExecutor:
    """A pool of processes that play, at most `most` and one for each core; they end when this process does."""
    from eigenax.lab.datasets.atari_player import end_with_parent

    # Processes are spawned, not forked: a fork of a process that runs JAX may hang.
    context = multiprocessing.get_context("spawn")
    _start_quiet_resource_tracker()
    return concurrent.futures.ProcessPoolExecutor(min(most, os.cpu_count() or 1), context, end_with_parent)


def _start_quiet_resource_tracker() -> None:
    """Start Python's resource tracker with its warnings off; after Ctrl-C it would warn of each semaphore it frees.

    It reads its warning filters from the environment when it starts.
    """
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [before, "ignore:resource_tracker"]))
    try:
        resource_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before

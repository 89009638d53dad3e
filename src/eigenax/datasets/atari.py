"""Frames of a random agent playing Atari games, in files that are mapped into memory."""

import concurrent.futures
import difflib
import itertools
import multiprocessing
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8

from eigenax.errors import InputError, RunError
from eigenax.training.files import explained, make_folder, write_atomically
from eigenax.training.progress import progress_track

STREAM = 2500
"""Steps that are played from a fresh game and written at once."""
DONE = "done.txt"
ARRAYS = (
    ("frames", np.uint8, (84, 84)),
    ("ram", np.uint8, (128,)),
    ("starts", np.bool_, ()),
    ("actions", np.uint8, ()),
)


class Gameplay(NamedTuple):
    """Steps of a random agent, those of one game after the other."""

    frames: UInt8[np.ndarray, "time side side"]
    ram: UInt8[np.ndarray, "time bytes"]
    """The 128 bytes of the console's memory."""
    starts: Bool[np.ndarray, " time"]
    """Where an episode begins."""
    actions: UInt8[np.ndarray, " time"]
    """What was done to get there, numbered among what the game knows."""

    def episodes(self, least: int = 1) -> "list[Gameplay]":
        """Each episode of at least so many steps."""
        edges = [*np.flatnonzero(self.starts).tolist(), len(self.starts)]
        return [Gameplay(*(part[i:j] for part in self)) for i, j in itertools.pairwise(edges) if j - i >= least]


def gameplay(game: str, steps: int, folder: Path, *, seed: int = 0, progress: bool = False) -> Gameplay:
    """So many steps of a random agent: grey, 84×84, one in four frames, an action repeated in between.

    They are in `folder`, and collected first if they are not: on all cores, to the same frames whatever their number.
    What was interrupted goes on. Not by the vector environment of ale-py, which does not tell the console's memory.
    """
    check_game(game)
    make_folder(folder)
    done = _done(folder, f"{game} {steps} {seed}", steps)
    missing = [stream for stream in range(-(-steps // STREAM)) if stream not in done]
    if missing:
        _collect(game, steps, seed, folder, missing, progress)
    return Gameplay(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name, _, _ in ARRAYS))


def check_game(game: str) -> None:
    """Raise `RunError` unless ale-py is installed and knows the game, naming those with similar names."""
    try:
        from ale_py import roms
    except ImportError as error:
        raise InputError("Atari games need the extra eigenax[atari]: pip install 'eigenax[atari]'") from error
    known = roms.get_all_rom_ids()
    if game not in known:
        close = difflib.get_close_matches(game, known, 3, 0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; there are {', '.join(sorted(known))}"
        raise InputError(f"there is no Atari game {game!r}{hint}")


def _done(folder: Path, about: str, steps: int) -> set[int]:
    """Which streams are in the folder's files already; the files are made if there are none."""
    record = folder / DONE
    if not record.exists():
        with explained(folder):
            for name, kind, shape in ARRAYS:
                np.lib.format.open_memmap(folder / f"{name}.npy", "w+", kind, (steps, *shape)).flush()
        write_atomically(record, about + "\n")
    kept, *streams = record.read_text().splitlines()
    if kept != about:
        raise RunError(f"{folder} holds other gameplay, {kept}, not {about}; give another folder, or delete it")
    return set(map(int, streams))


def _collect(game: str, steps: int, seed: int, folder: Path, missing: list[int], progress: bool) -> None:
    """Play what is missing, each stream in a process of its own, and write down which are there."""
    from eigenax.datasets.atari_player import play

    kept = [np.lib.format.open_memmap(folder / f"{name}.npy", "r+") for name, _, _ in ARRAYS]
    lengths = [min(STREAM, steps - stream * STREAM) for stream in missing]
    # Spawned and not forked: a fork of a process that runs JAX may hang.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(len(missing), os.cpu_count() or 1), context) as pool:
        played = pool.map(play, itertools.repeat(game), lengths, itertools.repeat(seed), missing)
        label = f"playing {game}"
        try:
            for stream, part in zip(
                missing, progress_track(played, label, show=progress, total=len(missing)), strict=True
            ):
                for array, values in zip(kept, part, strict=True):
                    array[stream * STREAM : stream * STREAM + len(values)] = values
                    array.flush()
                with (folder / DONE).open("a") as record:
                    record.write(f"{stream}\n")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise

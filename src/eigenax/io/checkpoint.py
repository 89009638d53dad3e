"""Checkpoints: every array a resume needs in one safetensors file, written atomically, verified when read."""

import re
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from eigenax.errors import RunError
from eigenax.io.files import make_folder, pack_tensors, read_tensors, write_atomically

FORMAT = "eigenax-checkpoint-2"
KEPT = 3
NUMBERS = (bool, int, float)
State = TypeVar("State")
Load = Callable[[Any], Any]
"""Takes a tree of arrays of the right shapes to one of those that were saved."""


def save_checkpoint(folder: Path, step: int, state: Any, about: dict[str, Any]) -> Path:
    """Write `state`, a tree of arrays, as the checkpoint of a step, and drop those that are no longer needed."""
    make_folder(folder)
    arrays = {name: np.asarray(leaf) for name, leaf in _named(state).items()}
    path = folder / f"step-{step:09d}.safetensors"
    write_atomically(path, pack_tensors(arrays, {"format": FORMAT, "about": about, "crc": checksum(arrays)}))
    # A later step than this one can only be a file that was refused when the run resumed.
    up_to_now = [other for other in checkpoints(folder) if _step(other) <= step]
    for other in set(checkpoints(folder)) - set(up_to_now[-KEPT:]):
        other.unlink(missing_ok=True)
    return path


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    found = [p for p in folder.glob("step-*.safetensors") if re.fullmatch(r"step-\d{9,}\.safetensors", p.name)]
    return sorted(found, key=_step)


def load_checkpoint(
    path: Path, build: Callable[[Any, Load], State], accept: Callable[[dict[str, Any]], None]
) -> tuple[State, dict[str, Any]]:
    """The state in a file and what was saved about it, which `accept` may refuse.

    `build` makes the state from what was saved about it and a function that takes a tree of arrays to the same tree of
    those in the file.
    """
    arrays, metadata = read_tensors(path)
    if metadata.get("format") != FORMAT:
        raise RunError(f"{path.name} is not an eigenax checkpoint")
    if metadata.get("crc") != checksum(arrays):
        raise RunError(f"{path.name} is damaged (its checksum does not match)")
    accept(metadata["about"])

    def load(like: Any) -> Any:
        expected = _named(like)
        if _shapes(arrays) != _shapes(expected):
            raise RunError(f"{path.name} belongs to a run with another network or solver")
        dynamic, static = eqx.partition(like, _is_kept)
        leaves, structure = jax.tree.flatten(dynamic)
        saved = [_as(leaf, arrays[name]) for name, leaf in zip(expected, leaves, strict=True)]
        return eqx.combine(jax.tree.unflatten(structure, saved), static)

    return build(metadata["about"], load), metadata["about"]


def load_newest(
    folder: Path, build: Callable[[Any, Load], State], accept: Callable[[dict[str, Any]], None] = lambda about: None
) -> tuple[State, dict[str, Any]] | None:
    """The newest checkpoint that is whole and of this run, or None where there are no checkpoints at all.

    Warns of each that is refused, by name. If there are some and none will do, that is an error.
    """
    refused = []
    for path in reversed(checkpoints(folder)):
        try:
            found = load_checkpoint(path, build, accept)
        except RunError as error:
            refused.append(str(error))
            continue
        for reason in refused:
            warnings.warn(f"checkpoint refused: {reason}; going on from {path.name}", RuntimeWarning, stacklevel=2)
        return found
    if refused:
        raise RunError(
            f"none of the checkpoints can be gone on from: {'; '.join(dict.fromkeys(refused))}. "
            "Choose another folder, or delete that one to start over"
        )
    return None


def _step(path: Path) -> int:
    return int(path.stem.removeprefix("step-"))


def _named(state: Any) -> dict[str, Any]:
    """Arrays and numbers by name; a network may hold other things (an activation function), which its maker brings
    again."""
    leaves = jax.tree_util.tree_flatten_with_path(eqx.filter(state, _is_kept))[0]
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _shapes(arrays: dict[str, Any]) -> dict[str, tuple[tuple[int, ...], str]]:
    return {name: (np.shape(leaf), str(np.asarray(leaf).dtype)) for name, leaf in arrays.items()}


def _as(leaf: Any, saved: np.ndarray) -> Any:
    """What was saved, of the kind that it was."""
    if isinstance(leaf, NUMBERS):
        return type(leaf)(saved.item())
    return saved if isinstance(leaf, np.ndarray) else jnp.asarray(saved)


def checksum(arrays: dict[str, np.ndarray]) -> int:
    """Of names and values."""
    total = 0
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).tobytes(), zlib.crc32(name.encode(), total))
    return total


def _is_kept(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, *NUMBERS))

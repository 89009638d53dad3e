"""Checkpoints: one safetensors file with all that a run needs to resume, written atomically and verified when read."""

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
MAX_CHECKPOINTS = 3
"""How many of the newest checkpoints are kept."""
NUMBER_TYPES = (bool, int, float)
"""The types of a state's leaves that are saved besides arrays."""
State = TypeVar("State")
Load = Callable[[Any], Any]
"""Takes a tree of arrays, and returns the same tree with the saved arrays, which must have the same shapes."""


def save_checkpoint(folder: Path, step: int, state: Any, about: dict[str, Any]) -> Path:
    """Write `state`, a tree of arrays, as the checkpoint of a step, and delete checkpoints that are no longer needed.

    `about` is plain data that is saved with it.
    """
    make_folder(folder)
    arrays = {name: np.asarray(leaf) for name, leaf in _leaves_by_name(state).items()}
    path = folder / f"step-{step:09d}.safetensors"
    write_atomically(path, pack_tensors(arrays, {"format": FORMAT, "about": about, "crc": checksum(arrays)}))
    # Checkpoints of later steps can only be files that were refused when the run resumed: they go too.
    up_to_now = [other for other in checkpoints(folder) if _step(other) <= step]
    for other in set(checkpoints(folder)) - set(up_to_now[-MAX_CHECKPOINTS:]):
        other.unlink(missing_ok=True)
    return path


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    found = [p for p in folder.glob("step-*.safetensors") if re.fullmatch(r"step-\d{9,}\.safetensors", p.name)]
    return sorted(found, key=_step)


def load_checkpoint(
    path: Path, build: Callable[[Any, Load], State], accept: Callable[[dict[str, Any]], None]
) -> tuple[State, dict[str, Any]]:
    """The state in a file, and the plain data saved with it, which `accept` may refuse by raising a `RunError`.

    `build(about, load)` makes the state from that data; `load` returns a tree of arrays with those of the file in place
    of its own.
    """
    arrays, metadata = read_tensors(path)
    if metadata.get("format") != FORMAT:
        raise RunError(f"{path.name} is not an eigenax checkpoint")
    if metadata.get("crc") != checksum(arrays):
        raise RunError(f"{path.name} is damaged (its checksum does not match)")
    accept(metadata["about"])

    def load(like: Any) -> Any:
        expected = _leaves_by_name(like)
        if _shapes(arrays) != _shapes(expected):
            raise RunError(f"{path.name} belongs to a run with another network or solver")
        dynamic, static = eqx.partition(like, _is_saved)
        leaves, structure = jax.tree.flatten(dynamic)
        saved = [_as_type_of(leaf, arrays[name]) for name, leaf in zip(expected, leaves, strict=True)]
        return eqx.combine(jax.tree.unflatten(structure, saved), static)

    return build(metadata["about"], load), metadata["about"]


def load_newest(
    folder: Path, build: Callable[[Any, Load], State], accept: Callable[[dict[str, Any]], None] = lambda about: None
) -> tuple[State, dict[str, Any]] | None:
    """The newest checkpoint that is intact and belongs to this run; None if there are no checkpoints at all.

    Newer ones that are damaged or belong to another run are refused with a warning that names the file. It is an error
    if every checkpoint is refused.
    """
    refused = []
    for path in reversed(checkpoints(folder)):
        try:
            found = load_checkpoint(path, build, accept)
        except RunError as error:
            refused.append(str(error))
            continue
        for reason in refused:
            warnings.warn(f"checkpoint refused: {reason}; resuming from {path.name}", RuntimeWarning, stacklevel=2)
        return found
    if refused:
        raise RunError(
            f"the run cannot resume from any of its checkpoints: {'; '.join(dict.fromkeys(refused))}. "
            "Choose another folder, or delete that one to start over"
        )
    return None


def _step(path: Path) -> int:
    return int(path.stem.removeprefix("step-"))


def _leaves_by_name(state: Any) -> dict[str, Any]:
    """The arrays and numbers in a state, by their names.

    Other leaves, such as an activation function, are not saved: a resumed run has them from the network it makes.
    """
    leaves = jax.tree_util.tree_flatten_with_path(eqx.filter(state, _is_saved))[0]
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _shapes(arrays: dict[str, Any]) -> dict[str, tuple[tuple[int, ...], str]]:
    return {name: (np.shape(leaf), str(np.asarray(leaf).dtype)) for name, leaf in arrays.items()}


def _as_type_of(leaf: Any, saved: np.ndarray) -> Any:
    """The saved array as a Python number, a NumPy array or a JAX array, whichever `leaf` is."""
    if isinstance(leaf, NUMBER_TYPES):
        return type(leaf)(saved.item())
    return saved if isinstance(leaf, np.ndarray) else jnp.asarray(saved)


def checksum(arrays: dict[str, np.ndarray]) -> int:
    """A checksum of the names and the values."""
    total = 0
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).tobytes(), zlib.crc32(name.encode(), total))
    return total


def _is_saved(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, *NUMBER_TYPES))

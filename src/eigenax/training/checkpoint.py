"""Checkpoints: every array a resume needs in one safetensors file, written atomically, verified when read."""

import re
import zlib
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from eigenax.training.errors import RunError
from eigenax.training.files import pack_tensors, read_tensors, write_atomically

FORMAT = "eigenax-checkpoint-1"
KEPT = 3
Tree = TypeVar("Tree")


def save_checkpoint(folder: Path, step: int, state: Any, about: dict[str, Any]) -> Path:
    """Write `state`, a tree of arrays, as the checkpoint of a step, and drop the oldest ones."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: np.asarray(leaf) for name, leaf in _named(state).items()}
    metadata = {"format": FORMAT, "about": about, "crc": _checksum(arrays)}
    path = folder / f"step-{step:09d}.safetensors"
    write_atomically(path, pack_tensors(arrays, metadata))
    for old in checkpoints(folder)[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    found = [p for p in folder.glob("step-*.safetensors") if re.fullmatch(r"step-\d{9,}\.safetensors", p.name)]
    return sorted(found, key=lambda path: int(path.stem.removeprefix("step-")))


def load_checkpoint(path: Path, like: Tree) -> tuple[Tree, dict[str, Any]]:
    """The state in a file, in the structure of `like`, and what was saved about it."""
    arrays, metadata = read_tensors(path)
    if metadata.get("format") != FORMAT:
        raise RunError(f"{path.name} is not an eigenax checkpoint")
    if metadata.get("crc") != _checksum(arrays):
        raise RunError(f"{path.name} is damaged (its checksum does not match)")
    expected = _named(like)
    if {k: (a.shape, str(a.dtype)) for k, a in arrays.items()} != {
        k: (a.shape, str(a.dtype)) for k, a in expected.items()
    }:
        raise RunError(f"{path.name} belongs to a run with another network or solver")
    dynamic, static = eqx.partition(like, eqx.is_array)
    saved = jax.tree.unflatten(jax.tree.structure(dynamic), [jnp.asarray(arrays[name]) for name in expected])
    return eqx.combine(saved, static), metadata["about"]


def load_newest(folder: Path, like: Tree) -> tuple[tuple[Tree, dict[str, Any]] | None, list[str]]:
    """The newest checkpoint that is whole, or None; and why each newer one was refused."""
    refused = []
    for path in reversed(checkpoints(folder)):
        try:
            return load_checkpoint(path, like), refused
        except RunError as error:
            refused.append(str(error))
    return None, refused


def _named(state: Any) -> dict[str, Any]:
    """Arrays by name; a network may hold other things (an activation function), which its maker brings again."""
    leaves = jax.tree_util.tree_flatten_with_path(eqx.filter(state, eqx.is_array))[0]
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _checksum(arrays: dict[str, np.ndarray]) -> int:
    total = 0
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).tobytes(), zlib.crc32(name.encode(), total))
    return total

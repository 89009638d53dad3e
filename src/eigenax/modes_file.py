"""Files of modes: one safetensors file without pickle, alone or in the folder of a run."""

from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from eigenax.errors import RunError
from eigenax.io import serialisation
from eigenax.io.files import check_format, pack_tensors, read_tensors, write_atomically

FORMAT = "eigenax-modes-5"
FILE = "modes.safetensors"
"""The name of the file in the folder of a run."""


def write(path: Path, modes: eqx.Module) -> None:
    """Write modes to a file; those of a network that is not eigenax's are refused."""
    arrays: dict[str, np.ndarray] = {}
    try:
        description = serialisation.encode(modes, arrays)
    except TypeError as error:
        raise RunError(
            f"these modes cannot be saved: {error}; use a network of eigenax, or write modes.network "
            "with equinox.tree_serialise_leaves and modes.coefficients yourself"
        ) from error
    write_atomically(path, pack_tensors(arrays, {"format": FORMAT, "modes": description}))


def read(path: Path) -> Any:
    """The modes in a file, or in the folder of a run."""
    file = path / FILE if path.is_dir() else path
    if not file.exists():
        runs = path.is_dir() and any(path.glob("settings.toml"))
        why = "the run is unfinished, `eigenax resume` it" if runs else "no such file"
        raise RunError(f"there are no modes at {file}: {why}")
    arrays, metadata = read_tensors(file)
    check_format(file, metadata.get("format"), FORMAT, "eigenax modes")
    try:
        return serialisation.decode(metadata["modes"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        raise RunError(f"{file} was written by another version of eigenax ({error})") from error

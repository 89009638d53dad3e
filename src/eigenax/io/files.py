"""Files that are complete or absent, whatever happens while they are written."""

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from eigenax.errors import RunError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write another file beside it, flush that to the disk, then rename it: a reader never sees half a file."""
    data = content.encode() if isinstance(content, str) else content
    partial = path.with_name(f".{path.name}.partial")
    with explained(path):
        try:
            with partial.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise


def make_folder(path: Path) -> None:
    """Make a folder and its parents."""
    with explained(path):
        path.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process; the operating system releases the lock however the process ends."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        yield
        return
    with explained(folder):
        descriptor = os.open(folder, os.O_RDONLY)
    try:
        _lock(fcntl, descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(fcntl: Any, descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise RunError(f"{folder} is in use: another process is at work there; wait for it or stop it") from error
    except OSError:  # a file system without locks
        return


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an OSError in the block into a `RunError` that says why the file could not be written."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise RunError(
                f"no room left on the disk for {path}; what was saved before is intact: free some space and resume"
            ) from error
        raise RunError(f"cannot write {path}: {error.strerror}; choose another folder") from error


def pack_tensors(arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> bytes:
    """The content of a safetensors file; equal arrays and metadata give equal bytes.

    All metadata go into a single entry, since several entries would be written in no fixed order.
    """
    # The format only stores arrays in C order.
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    complex_names = [name for name, array in arrays.items() if array.dtype == np.complex128]
    for name in complex_names:  # nor does it store complex numbers: save real and imaginary parts
        arrays[name] = np.stack([np.real(arrays[name]), np.imag(arrays[name])], -1)
    return save(arrays, {"eigenax": json.dumps(metadata | ({"complex": complex_names} if complex_names else {}))})


def read_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a safetensors file; the metadata are empty if eigenax did not write it."""
    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  no mapping
            metadata = json.loads((file.metadata() or {}).get("eigenax", "{}"))
    except (SafetensorError, OSError, ValueError) as error:
        raise RunError(f"{path.name} is damaged ({error})") from error
    for name in metadata.pop("complex", []):
        arrays[name] = arrays[name][..., 0] + 1j * arrays[name][..., 1]
    return arrays, metadata


def check_format(path: Path, found: str | None, wanted: str, holds: str) -> None:
    """Refuse a file of another format; the error says whether it is of another version or holds something else."""
    if found == wanted:
        return
    # The last part of a format is its version.
    if found is not None and found.rpartition("-")[0] == wanted.rpartition("-")[0]:
        raise RunError(f"{path} was written by another version of eigenax (its format is {found}, not {wanted})")
    raise RunError(f"{path} does not hold {holds}")

"""Read videos, arrays and folders of images as rows over time; frames are made grey and scaled down."""

import contextlib
import hashlib
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from jaxtyping import Float
from PIL import Image, UnidentifiedImageError

from eigenax.errors import InputError
from eigenax.io.files import explained, make_folder
from eigenax.progress import progress_track

LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in grey."""
COMPLETE_SHARE = 0.9
"""Share of the frames announced by a video's header below which the video is reported as cut off."""
TABLES = {".csv", ".tsv", ".txt", ".parquet"}
PICTURES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".pgm", ".ppm"}


class Recording(NamedTuple):
    """Rows over time (time, d), or grey frames (time, h, w), mapped from a file where possible."""

    rows: np.ndarray
    changes: str
    """What was done to them, in words; empty if nothing was."""


class _Frames(NamedTuple):
    """Frames one after the other, their number if it is known, and the shape and type of each."""

    frames: Iterable[np.ndarray]
    length: int | None
    shape: tuple[int, ...]
    dtype: np.dtype
    lost: str = ""
    """Which part of the file cannot be read, in words; empty if all of it can."""


def read_recording(path: Path, cache: Path, size: int, progress: bool = False) -> Recording:
    """Open a video, a .npy or .npz array, or a folder of images.

    Colours become grey, and frames whose longer side is above `size` pixels are scaled down to it. Frames that
    cannot be mapped from the file as they are get converted once, into a file in the folder `cache`.
    """
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.suffix.lower() in TABLES and not path.is_dir():
        raise InputError(f"{path} is a table; save its numbers as an array (time, d): numpy.save('rows.npy', rows)")
    if path.suffix in {".npy", ".npz"} and not path.is_dir():
        array = _array(path)
        if array.ndim == 2:
            return Recording(array, "")
        found = _Frames(array, len(array), array.shape[1:], array.dtype)
    else:
        found = _pictures(path) if path.is_dir() else _video(path)
    target, changes = _target(path, found.shape, size)
    changes = "; ".join(filter(None, (changes, found.lost)))
    if isinstance(found.frames, np.ndarray) and not changes:
        return Recording(found.frames, "")
    kept = cache / f"{re.sub(r'[^A-Za-z0-9]+', '-', path.name)}-{target[0]}x{target[1]}-{_fingerprint(path)}.npy"
    if not kept.exists():
        _write(kept, found, target, path, progress)
    return Recording(np.load(kept, mmap_mode="r"), changes)


def _fingerprint(path: Path) -> str:
    """A hash of names, times and sizes, which changes when the file, or any in the folder, must be read again."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    about = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files]
    return hashlib.sha256(repr(about).encode()).hexdigest()[:12]


def _array(path: Path) -> np.ndarray:
    """The array in a file, mapped into memory where the format allows it."""
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(loaded, np.ndarray):
            names = loaded.files
            if len(names) != 1:
                raise InputError(
                    f"{path} must hold one array, the frames or rows over time; it holds {', '.join(names)}"
                )
            loaded = loaded[names[0]]
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a NumPy array that can be read ({error})") from error
    if not (np.issubdtype(loaded.dtype, np.number) or loaded.dtype == bool) or np.iscomplexobj(loaded):
        raise InputError(f"{path} must hold real numbers; it holds {loaded.dtype}")
    if loaded.ndim not in {2, 3, 4} or 0 in loaded.shape:
        hint = "; one number a time is array[:, None]" if loaded.ndim == 1 and loaded.size else ""
        raise InputError(
            f"{path} must have the shape (time, d), (time, height, width) or (time, height, width, colours); it has "
            f"{loaded.shape}{hint}"
        )
    return loaded


def _pictures(folder: Path) -> _Frames:
    """The images of a folder in the order of their names, with numbers in names ordered by value."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in PICTURES]
    if not files:
        raise InputError(
            f"{folder} holds no images ({', '.join(sorted(PICTURES))}); got a folder, so its frames are meant"
        )
    files.sort(key=lambda file: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", file.name)])

    def opened() -> Iterator[np.ndarray]:
        for file in files:
            try:
                with Image.open(file) as image:
                    deep = image.mode.startswith(("I", "F"))
                    kind = "L" if image.mode in {"L", "1"} else "RGB"
                    yield np.asarray(image, np.float32) if deep else np.asarray(image.convert(kind))
            except (UnidentifiedImageError, OSError) as error:
                raise InputError(f"{file} is not an image that can be read ({error})") from error

    first = next(opened())

    def of_one_size() -> Iterator[np.ndarray]:
        for file, frame in zip(files, opened(), strict=True):
            if frame.shape[:2] != first.shape[:2]:
                sizes = " and ".join(f"{one.shape[1]}×{one.shape[0]}" for one in (first, frame))
                raise InputError(
                    f"all images of {folder} must have one size; {files[0].name} and {file.name} have {sizes}"
                )
            yield frame

    return _Frames(of_one_size(), len(files), first.shape, first.dtype)


def _video(path: Path) -> _Frames:
    """The frames of a video file, decoded as they are asked for."""
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise InputError(
            "reading videos needs the extra eigenax[video]; arrays and folders of images need nothing"
        ) from error
    try:
        with _starting_processes():
            about = next(imageio_ffmpeg.read_frames(path))
            count = imageio_ffmpeg.count_frames_and_secs(path)[0]
    except (OSError, RuntimeError, StopIteration, ValueError, IndexError) as error:
        raise InputError(
            f"{path} is not a video that can be read; videos, .npy, .npz and folders of images can"
        ) from error
    width, height = about["size"]
    promised = round(about["fps"] * about["duration"])
    lost = (
        f"cut off, or its sound is longer: {count} of about {promised} frames can be read"
        if count < COMPLETE_SHARE * promised
        else ""
    )

    def decoded() -> Iterator[np.ndarray]:
        with contextlib.closing(imageio_ffmpeg.read_frames(path)) as frames:
            with _starting_processes():
                next(frames)
            try:
                for frame in frames:
                    yield np.frombuffer(frame, np.uint8).reshape(height, width, 3)
            except (OSError, RuntimeError, ValueError) as error:
                raise InputError(f"{path} cannot be read to its end: {error}") from error

    return _Frames(decoded(), count, (height, width, 3), np.dtype(np.uint8), lost)


@contextlib.contextmanager
def _starting_processes() -> Iterator[None]:
    """Suppress JAX's warning that a forked process may hang: here it starts another program at once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
        yield


def _target(path: Path, shape: tuple[int, ...], size: int) -> tuple[tuple[int, int], str]:
    """Height and width to which frames are converted, and the conversion in words."""
    if len(shape) == 3 and shape[2] not in {1, 3, 4}:
        raise InputError(f"{path} must have 1, 3 or 4 colours in its last axis; it has {shape[2]}")
    height, width = shape[:2]
    if min(height, width) < 2:
        raise InputError(
            f"{path} has frames of {width}×{height} pixels, too few for a convolution; give rows (time, d)"
        )
    scale = min(1.0, size / max(height, width))
    target = max(2, round(height * scale)), max(2, round(width * scale))
    changes = ["colours to grey"] if len(shape) == 3 else []
    if target != (height, width):
        changes.append(f"{width}×{height} to {target[1]}×{target[0]} pixels")
    return target, " and ".join(changes)


def _write(kept: Path, found: _Frames, target: tuple[int, int], path: Path, progress: bool) -> None:
    """Write frames, scaled down and grey, to a file that is either complete or absent."""
    dtype = np.uint8 if found.dtype == np.uint8 else np.float32
    make_folder(kept.parent)
    partial = kept.with_name(f".{kept.name}.partial")
    frames = progress_track(found.frames, f"reading {path.name}", show=progress, total=found.length)
    with explained(kept):
        with partial.open("wb") as file:
            # The header is written again at the end, when the number of frames is known.
            _write_header(file, dtype, (0, *target))
            count = 0
            for frame in frames:
                small = _small(np.asarray(frame, np.float32), target)
                file.write((small.round().clip(0, 255) if dtype is np.uint8 else small).astype(dtype).tobytes())
                count += 1
            file.seek(0)
            _write_header(file, dtype, (count, *target))
        partial.replace(kept)


def _write_header(file: BinaryIO, dtype: type, shape: tuple[int, ...]) -> None:
    """Write NumPy's header, whose length does not depend on the number of frames."""
    about = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def _small(frame: Float[np.ndarray, "..."], target: tuple[int, int]) -> Float[np.ndarray, "h w"]:
    if frame.ndim == 3:
        frame = frame[..., 0] if frame.shape[2] == 1 else frame[..., :3] @ LUMINANCE
    if frame.shape == target:
        return frame
    height, width = target
    return np.asarray(Image.fromarray(frame, "F").resize((width, height), Image.Resampling.BOX))

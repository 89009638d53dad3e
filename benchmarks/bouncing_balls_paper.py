"""The paper's bouncing balls, a million steps in parts of some minutes: `python benchmarks/bouncing_balls_paper.py`.

A million steps with the Jacobian average take 90 minutes on one NVIDIA H200. Each call goes on where the last one
ended, for `--seconds`, and keeps what the next one needs in `--part`, which is below one megabyte: the average of the
Jacobian, 200 MB and a memory of a hundred steps, begins anew; parameters keep 16 bits of their mantissa, which changes
them by less than ten steps do, and the optimiser's second moments 8. The last call leaves a run folder with its report.
"""

import argparse
import json
import lzma
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path

import ml_dtypes
import numpy as np

from eigenax.cli.main import main as command_line
from eigenax.io.checkpoint import checkpoints, checksum
from eigenax.io.files import make_folder, pack_tensors, read_tensors, write_atomically
from eigenax.lab.experiments.bouncing_balls import BouncingBalls

PART = Path(__file__).parent / "results" / "bouncing-balls-paper.xz"
JACOBIAN, SECOND_MOMENTS, NETWORK = ".solver.more", ".nu.", ".solver.network"
DROPPED = np.uint32(0xFFFFFF00)
"""Keeps 16 bits of the mantissa of a number in float32."""
ROWS = 2000
"""Steps between the rows of metrics that are kept."""


def main() -> int:
    parser = argparse.ArgumentParser(description="the bouncing balls of the paper, in parts")
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--part", type=Path, default=PART, help="what is kept from call to call")
    parser.add_argument("--out", type=Path, help="the run folder")
    asked, others = parser.parse_known_args()
    run = asked.out or Path(tempfile.mkdtemp()) / "balls"
    if asked.part.exists() and not run.exists():
        unpack(asked.part, run)
    settings = ["run", BouncingBalls.name, "--preset", "paper", "--out", str(run), *others]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(asked.seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    code = command_line(["resume", str(run)] if run.exists() else settings)
    pack(run, asked.part)
    return code


def pack(run: Path, part: Path) -> None:
    """The newest checkpoint, settings and metrics of a run, as few bytes."""
    arrays, metadata = read_tensors(checkpoints(run / "checkpoints")[-1])
    about = metadata["about"] | {"jacobian": {k: v.shape for k, v in arrays.items() if k.startswith(JACOBIAN)}}
    rows = [row for row in (run / "metrics.jsonl").read_text().splitlines() if json.loads(row)["step"] % ROWS == 0]
    about |= {"toml": (run / "settings.toml").read_text(), "metrics": rows, "step": int(arrays[".step"])}
    kept = {name: _shortened(name, array) for name, array in arrays.items() if name not in about["jacobian"]}
    write_atomically(part, lzma.compress(pack_tensors(kept, metadata | {"about": about}), preset=9))
    print(f"step {about['step']} in {part}: {part.stat().st_size} bytes")


def _shortened(name: str, array: np.ndarray) -> np.ndarray:
    if SECOND_MOMENTS in name:
        return array.astype(ml_dtypes.bfloat16).view(np.uint16)
    return (array.view(np.uint32) & DROPPED).view(np.float32) if name.startswith(NETWORK) else array


def unpack(part: Path, run: Path) -> None:
    """A run folder that goes on from there."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(lzma.decompress(part.read_bytes()))
        file.flush()
        kept, metadata = read_tensors(Path(file.name))
    about = metadata["about"]
    toml, rows, step, jacobian = (about.pop(name) for name in ("toml", "metrics", "step", "jacobian"))
    arrays = {name: _restored(name, array) for name, array in kept.items()}
    arrays |= {name: np.zeros(shape, np.float32) for name, shape in jacobian.items()}
    make_folder(run / "checkpoints")
    (run / "settings.toml").write_text(toml)
    (run / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    path = run / "checkpoints" / f"step-{step:09d}.safetensors"
    path.write_bytes(pack_tensors(arrays, metadata | {"about": about, "crc": checksum(arrays)}))


def _restored(name: str, array: np.ndarray) -> np.ndarray:
    return array.view(ml_dtypes.bfloat16).astype(np.float32) if SECOND_MOMENTS in name else array


if __name__ == "__main__":
    sys.exit(main())

"""How much of the features of an Atari run is the time since the game began, and how much they vary in other games.

    eigenax run atari --game freeway --out runs/freeway
    python benchmarks/atari_clock.py runs/freeway

Frames of other games than those learned from; least squares on seven cosines of the time, cos(πkt/T), k = 1 … 7.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from jaxtyping import Float

import eigenax as ex
from eigenax.lab.baselines.agent_steps import STACK, into_episode
from eigenax.lab.datasets.atari import gameplay
from eigenax.over_time import features_of

STEPS, SEED, COSINES = 10_000, 1 << 16, 7


def explained(features: Float[np.ndarray, "time n"], times: Float[np.ndarray, " time"]) -> Float[np.ndarray, " n"]:
    """The share of each feature's variance that is a sum of cosines of the time."""
    basis = np.cos(np.pi * times[:, None] / times.max() * np.arange(COSINES + 1))
    rest = features - basis @ np.linalg.lstsq(basis, features, rcond=None)[0]
    return 1 - rest.var(0) / features.var(0)


def main(run: Path) -> None:
    game, modes = json.loads((run / "result.json").read_text())["game"], ex.load(run / "modes.safetensors")
    with tempfile.TemporaryDirectory() as folder:
        played = gameplay(game, STEPS, Path(folder) / game, seed=SEED)
        frames, into = np.array(played.frames), into_episode(np.array(played.starts))
    shown = into >= STACK - 1
    features = features_of(modes, frames, n_stack=STACK, progress=False)[shown]
    print(f"{game}, {STEPS} steps of other games; features vary by one in those learned from")
    print("varies by               " + " ".join(f"{value:6.3f}" for value in features.std(0)))
    print("explained by the time   " + " ".join(f"{value:6.3f}" for value in explained(features, into[shown])))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("give the folder of a run: python benchmarks/atari_clock.py runs/freeway")
    main(Path(sys.argv[1]))

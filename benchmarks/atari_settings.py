"""How slow the slow features of a game are, and how much of its memory they tell, as its settings change.

    python benchmarks/atari_settings.py breakout GAMES                                  a GPU, and minutes
    python benchmarks/atari_settings.py breakout GAMES 700,12,2,5,0 --preset quick      one of your own, on two cores

A setting is steps,clips,coarse,spare,seed, as `eigenax run atari --help` has them.

Gameplay is collected into the folder GAMES. Settings are compared on games that are in no result of seed 0, those that
`--seed 1` holds out; beside them are the held-out games of `eigenax run atari`. Only the slow features are trained.
"""

import argparse
import dataclasses
import tempfile
from pathlib import Path

import numpy as np

from eigenax.lab.baselines.agent_steps import STACK, with_whole_stacks
from eigenax.lab.datasets.atari import Gameplay
from eigenax.lab.experiments.atari import Atari
from eigenax.lab.scores.gameplay import probe
from eigenax.lab.scores.slowness import delta_values
from eigenax.modes import Modes
from eigenax.over_time import features_of

SETTINGS = [
    "100,48,1,0,0", "300,96,1,0,0", "500,48,1,0,0", "500,48,1,3,0", "500,48,1,7,0", "12000,96,1,0,0", "100,48,2,0,0",
    "300,48,2,0,0", "1000,48,2,0,0", "2000,48,2,0,0", "400,48,2,3,0", "500,48,2,3,0", "600,48,2,3,0", "300,48,2,5,0",
    "400,48,2,5,0", "500,48,2,5,0", "500,48,2,7,0", "300,48,3,0,0", "1000,48,3,0,0", "300,48,4,0,0",
]  # fmt: skip
NAMES = ("steps", "clips", "coarse", "spare", "seed")


def setting(text: str) -> dict[str, int]:
    """The values of a setting, by name."""
    return dict(zip(NAMES, map(int, text.split(",")), strict=True))


def told(modes: Modes, part: Gameplay) -> tuple[float, float]:
    """The sum of Δ, and the probe."""
    shown, episodes = with_whole_stacks(part.starts)
    features = features_of(modes, part.frames, n_stack=STACK, progress=False)[shown]
    return float(delta_values(np.split(features, episodes)).sum()), probe(features, part.ram[shown])


def main(base: Atari, place: Path, settings: list[dict[str, int]]) -> None:
    held_out = base.held_out_seed
    parts = [(base.frames, base.seed), (base.held_out, held_out), (base.held_out, held_out + 1)]
    seen, reported, compared_on = (base.played(place, steps, seed, progress=True) for steps, seed in parts)
    said = " ".join(f"{name:>6}" for name in NAMES)
    print(f"{base.game}\n{said}    sum of Δ  probe    compared on: sum of Δ  probe")
    for values in settings:
        experiment = dataclasses.replace(base, **values)
        with tempfile.TemporaryDirectory() as folder:
            modes = experiment.learned(seen, Path(folder), progress=True)
        (slowness, share), (other_slowness, other_share) = told(modes, reported), told(modes, compared_on)
        said = " ".join(f"{value:6}" for value in values.values())
        print(f"{said} {slowness:11.5f} {share:6.3f} {other_slowness:23.5f} {other_share:6.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Slow features of a game, at several settings.")
    parser.add_argument("game")
    parser.add_argument("folder", type=Path, help="where its frames are, or are collected")
    parser.add_argument("settings", nargs="*", type=setting, help=",".join(NAMES))
    parser.add_argument("--preset", default="best", choices=[*Atari.presets])
    words = parser.parse_args()
    given = words.settings or [*map(setting, SETTINGS)]
    main(dataclasses.replace(Atari.with_preset(words.preset), game=words.game), words.folder, given)

"""How slow the slow features of a game are, and how much of its memory they tell, as steps, clips and the seed change.

    python benchmarks/atari_settings.py breakout GAMES                              a GPU, and minutes
    python benchmarks/atari_settings.py breakout GAMES 350,12,0 --preset quick      a setting of your own, on two cores

Gameplay is collected into the folder GAMES. Settings are chosen on games that are in no result of seed 0, those that
`--seed 1` holds out; beside them are the held-out games of `eigenax run atari`. Only the slow features are trained.
"""

import argparse
import dataclasses
import tempfile
from pathlib import Path

import numpy as np

from eigenax.baselines.successor import STACK, with_whole_stacks
from eigenax.datasets.atari import Gameplay
from eigenax.evaluation.features import features_of
from eigenax.evaluation.gameplay import probe
from eigenax.evaluation.slowness import delta_values
from eigenax.experiments.atari import Atari
from eigenax.modes import Modes

STEPS_CLIPS_SEED = [
    "200,96,0", "300,96,0", "400,96,0", "500,96,0", "300,48,0", "500,48,0", "500,24,0", "1000,24,0", "500,48,1",
    "500,48,2", "12000,96,0",
]  # fmt: skip


def told(modes: Modes, part: Gameplay) -> tuple[float, float]:
    """The sum of Δ, and the probe."""
    shown, episodes = with_whole_stacks(part.starts)
    features = features_of(modes, part.frames, frames=STACK, progress=False)[shown]
    return float(delta_values(np.split(features, episodes)).sum()), probe(features, part.ram[shown])


def main(base: Atari, place: Path, settings: list[str]) -> None:
    held_out = base.held_out_seed
    parts = [(base.frames, base.seed), (base.held_out, held_out), (base.held_out, held_out + 1)]
    seen, reported, chosen_on = (base.played(place, steps, seed, progress=True) for steps, seed in parts)
    print(f"{base.game}\nsteps clips seed   sum of Δ  probe  to choose on: sum of Δ  probe")
    for setting in settings:
        steps, clips, seed = map(int, setting.split(","))
        experiment = dataclasses.replace(base, steps=steps, clips=clips, seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            modes = experiment.learned(seen, Path(folder), progress=True)
        (slowness, share), (other_slowness, other_share) = told(modes, reported), told(modes, chosen_on)
        print(f"{steps:5} {clips:5} {seed:4} {slowness:10.5f} {share:6.3f} {other_slowness:23.5f} {other_share:6.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Slow features of a game, at several settings.")
    parser.add_argument("game")
    parser.add_argument("folder", type=Path, help="where its frames are, or are collected")
    parser.add_argument("settings", nargs="*", default=STEPS_CLIPS_SEED, help="steps,clips,seed")
    parser.add_argument("--preset", default="best", choices=[*Atari.presets])
    words = parser.parse_args()
    main(dataclasses.replace(Atari.with_preset(words.preset), game=words.game), words.folder, words.settings)

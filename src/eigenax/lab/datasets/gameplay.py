"""What an agent saw of an Atari game. Nothing heavy is imported: every process that plays imports this."""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8

SIDE, RAM = 84, 128
"""Pixels of a frame's side, and bytes of the console's memory."""
KINDS = {
    "frames": (np.uint8, (SIDE, SIDE)),
    "ram": (np.uint8, (RAM,)),
    "starts": (np.bool_, ()),
    "actions": (np.uint8, ()),
}
"""Type and shape of what is kept of a step."""


class Gameplay(NamedTuple):
    """Steps of a random agent, those of one game after the other."""

    frames: UInt8[np.ndarray, "time side side"]
    ram: UInt8[np.ndarray, "time bytes"]
    """The console's memory."""
    starts: Bool[np.ndarray, " time"]
    """Where an episode begins."""
    actions: UInt8[np.ndarray, " time"]
    """What was done to get there, numbered among what the game knows."""

    def episodes(self, least: int = 1) -> "list[Gameplay]":
        """Each episode of at least so many steps."""
        edges = [*np.flatnonzero(self.starts).tolist(), len(self.starts)]
        return [Gameplay(*(part[i:j] for part in self)) for i, j in itertools.pairwise(edges) if j - i >= least]


def nothing_yet(steps: int) -> Gameplay:
    """Room for so many steps."""
    return Gameplay(*(np.zeros((steps, *shape), kind) for kind, shape in KINDS.values()))

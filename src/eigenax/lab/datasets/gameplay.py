"""What an agent saw of an Atari game. Every process that plays imports this module, so it imports little."""

import itertools
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8

SIDE = 84
"""Pixels on each side of a frame."""
RAM = 128
"""Bytes of the console's memory."""
KINDS = {
    "frames": (np.uint8, (SIDE, SIDE)),
    "ram": (np.uint8, (RAM,)),
    "starts": (np.bool_, ()),
    "actions": (np.uint8, ()),
}
"""Type and shape of each array's entry for one step."""


class Gameplay(NamedTuple):
    """Steps of a random agent, one game after the other."""

    frames: UInt8[np.ndarray, "time side side"]
    ram: UInt8[np.ndarray, "time bytes"]
    """The console's memory."""
    starts: Bool[np.ndarray, " time"]
    """Where an episode begins."""
    actions: UInt8[np.ndarray, " time"]
    """The action that led to each frame, as an index into the game's actions."""

    def episodes(self, least: int = 1) -> "list[Gameplay]":
        """The episodes of at least this many steps."""
        edges = [*np.flatnonzero(self.starts).tolist(), len(self.starts)]
        return [Gameplay(*(part[i:j] for part in self)) for i, j in itertools.pairwise(edges) if j - i >= least]


def empty_gameplay(steps: int) -> Gameplay:
    """Arrays of zeros for this many steps."""
    return Gameplay(*(np.zeros((steps, *shape), kind) for kind, shape in KINDS.values()))

"""A random agent at one Atari game. Nothing heavy is imported: every process that plays imports this."""

import functools
from typing import NamedTuple

import numpy as np
from ale_py import Action, ALEInterface, LoggerMode, roms
from jaxtyping import Bool, UInt8
from PIL import Image

SIDE, SKIP = 84, 4
"""Pixels of a frame's side, and frames of the emulator for each of ours, in which an action is repeated."""
MOST_IDLE = 30
"""An episode begins with up to so many steps of doing nothing, so that no two begin alike."""
RAM = 128


class Played(NamedTuple):
    """What an agent saw, step by step."""

    frames: UInt8[np.ndarray, "time side side"]
    ram: UInt8[np.ndarray, "time bytes"]
    starts: Bool[np.ndarray, " time"]
    """Where an episode begins."""
    actions: UInt8[np.ndarray, " time"]
    """What the agent did to get there, numbered among what the game knows."""


class _Console:
    """The emulator of one game, its screen grey and small."""

    def __init__(self, game: str, seed: int):
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale = ALEInterface()
        self.ale.setInt("random_seed", seed)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(str(roms.get_rom_path(game)))
        self.actions = list(self.ale.getMinimalActionSet())
        width, height = self.ale.getScreenDims()[::-1]
        self.before, self.now = np.empty((height, width), np.uint8), np.empty((height, width), np.uint8)

    def act(self, action: Action) -> UInt8[np.ndarray, "side side"]:
        """The brighter of the last two screens: many games draw their sprites in turn."""
        for _ in range(SKIP - 1):
            self.ale.act(action)
        self.ale.getScreenGrayscale(self.before)
        self.ale.act(action)
        self.ale.getScreenGrayscale(self.now)
        screen = Image.fromarray(np.maximum(self.before, self.now))
        return np.asarray(screen.resize((SIDE, SIDE), Image.Resampling.BOX))


def play(game: str, steps: int, seed: int, stream: int) -> Played:
    """So many steps of random actions, from a fresh game; the same for the same seed and stream.

    >>> play("breakout", 3, seed=0, stream=0).frames.shape
    (3, 84, 84)
    """
    rng = np.random.default_rng((seed, stream))
    console = _Console(game, int(rng.integers(2**31)))
    bytes_of = functools.partial(np.empty, dtype=np.uint8)
    seen = Played(bytes_of((steps, SIDE, SIDE)), bytes_of((steps, RAM)), np.zeros(steps, bool), bytes_of(steps))
    fresh, idle = True, int(rng.integers(MOST_IDLE + 1))
    for step in range(steps):
        if console.ale.game_over():
            console.ale.reset_game()
            fresh, idle = True, int(rng.integers(MOST_IDLE + 1))
        number = console.actions.index(Action.NOOP) if idle else int(rng.integers(len(console.actions)))
        seen.frames[step], seen.ram[step] = console.act(console.actions[number]), console.ale.getRAM()
        seen.starts[step], seen.actions[step] = fresh, number
        fresh, idle = False, max(0, idle - 1)
    return seen

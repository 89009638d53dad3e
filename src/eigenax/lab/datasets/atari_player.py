"""A random agent that plays one Atari game. Every process that plays imports this module, so it imports little."""

import multiprocessing
import os
import signal
import threading

import numpy as np
from ale_py import Action, ALEInterface, LoggerMode, roms
from jaxtyping import UInt8
from PIL import Image

from eigenax.lab.datasets.gameplay import SIDE, Gameplay, empty_gameplay

SKIP = 4
"""Frames of the emulator in one of our steps, in which the action is repeated."""
MAX_IDLE_STEPS = 30
"""An episode begins with a random number of idle steps, up to this many, so that episodes begin differently."""


class _Console:
    """The emulator of one game, with a small grey screen."""

    def __init__(self, game: str, seed: int):
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale = ALEInterface()
        self.ale.setInt("random_seed", seed)
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(str(roms.get_rom_path(game)))
        self.actions = list(self.ale.getMinimalActionSet())
        # A few games, such as backgammon, have no action that does nothing.
        self.idle = self.actions.index(Action.NOOP) if Action.NOOP in self.actions else 0
        width, height = self.ale.getScreenDims()[::-1]
        self.before, self.now = np.empty((height, width), np.uint8), np.empty((height, width), np.uint8)

    def act(self, action: Action) -> UInt8[np.ndarray, "side side"]:
        """Repeat an action; return the brighter of the last two screens, as many games draw sprites in turn."""
        for _ in range(SKIP - 1):
            self.ale.act(action)
        self.ale.getScreenGrayscale(self.before)
        self.ale.act(action)
        self.ale.getScreenGrayscale(self.now)
        screen = Image.fromarray(np.maximum(self.before, self.now))
        return np.asarray(screen.resize((SIDE, SIDE), Image.Resampling.BOX))


def play(game: str, steps: int, seed: int, stream: int) -> Gameplay:
    """Play this many random steps from a fresh game; they are the same for the same seed and stream.

    >>> play("breakout", 3, seed=0, stream=0).frames.shape
    (3, 84, 84)
    """
    rng = np.random.default_rng((seed, stream))
    console = _Console(game, int(rng.integers(2**31)))
    seen = empty_gameplay(steps)
    fresh, idle = True, int(rng.integers(MAX_IDLE_STEPS + 1))
    for step in range(steps):
        if console.ale.game_over():
            console.ale.reset_game()
            fresh, idle = True, int(rng.integers(MAX_IDLE_STEPS + 1))
        number = console.idle if idle else int(rng.integers(len(console.actions)))
        seen.frames[step], seen.ram[step] = console.act(console.actions[number]), console.ale.getRAM()
        seen.starts[step], seen.actions[step] = fresh, number
        fresh, idle = False, max(0, idle - 1)
    return seen


def end_with_parent() -> None:
    """In a process that plays: leave Ctrl-C to the parent process, and end when the parent ends for any reason."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None, "this is for processes that were started"

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

"""Do eigenpurposes explore better than chance? Four rooms, options learned by Q-learning, a goal far away.

    pip install 'eigenax[atari,estimators]'
    python benchmarks/eigenpurposes.py

A random agent walks about; its Laplacian representation has eigenfunctions; for each of them, up and down, an option is
learned that goes where it is largest. Then an agent chooses at random among the four moves, or among these and the
options, from one corner; a goal in the opposite corner pays 1 and puts it back.
"""

import sys
from typing import NamedTuple

import gymnasium
import numpy as np
from jaxtyping import Float, Int

from eigenax.environments import Eigenpurpose
from eigenax.estimators import LaplacianRepresentation

ROOMS = """
#############
#     #     #
#     #     #
#           #
#     #     #
#     #     #
## ####     #
#     ### ###
#     #     #
#     #     #
#           #
#     #     #
#############
"""
MOVES = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])
FUNCTIONS, WALKED, PRACTISED, DISCOUNT, RATE = 4, 10_000, 20_000, 0.9, 0.2
EPISODES, HORIZON, LONGEST, SEEDS = 100, 1000, 100, 5


class FourRooms(gymnasium.Env):
    """Cells of four rooms, numbered; a move into a wall leads nowhere."""

    action_space = gymnasium.spaces.Discrete(len(MOVES))

    def __init__(self, anywhere: bool = True):
        plan = np.array([list(line) for line in ROOMS.strip().splitlines()])
        self.cells = np.argwhere(plan == " ")
        self.number = np.full(plan.shape, -1)
        self.number[tuple(self.cells.T)] = np.arange(len(self.cells))
        self.observation_space = gymnasium.spaces.Discrete(len(self.cells))
        self.start, self.goal, self.anywhere, self.state = 0, len(self.cells) - 1, anywhere, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = int(self.np_random.integers(len(self.cells))) if self.anywhere else self.start
        return self.state, {}

    def step(self, action):
        there = self.number[tuple(self.cells[self.state] + MOVES[action])]
        self.state = self.state if there < 0 else int(there)
        paid = float(self.state == self.goal)
        return self.state, paid, False, False, {}


class Explored(NamedTuple):
    states: Float[np.ndarray, " episodes"]
    """Different cells that an episode came to."""
    paid: Float[np.ndarray, " episodes"]


def practised(env: gymnasium.Env, states: int, rng: np.random.Generator) -> Int[np.ndarray, " states"]:
    """What an option does in each cell, −1 where it ends: Q-learning of its purpose from random moves."""
    q = np.zeros((states, len(MOVES)))
    state, _ = env.reset(seed=int(rng.integers(2**31)))
    for _ in range(PRACTISED):
        action = int(rng.integers(len(MOVES)))
        after, reward, *_ = env.step(action)
        aim = float(reward) + DISCOUNT * max(0.0, q[after].max())  # ending pays nothing
        q[state, action] += RATE * (aim - q[state, action])
        state = after
    return np.where(q.max(1) > 1e-3, q.argmax(1), -1)


def explored(options: list[np.ndarray], rng: np.random.Generator) -> Explored:
    """Episodes of choices at random among moves and options."""
    env, seen, paid = FourRooms(anywhere=False), [], []
    for _ in range(EPISODES):
        state, _ = env.reset()
        visited, reward, left = {state}, 0.0, HORIZON
        while left > 0:
            choice = int(rng.integers(len(MOVES) + len(options)))
            for _ in range(min(left, LONGEST)):
                option = choice - len(MOVES)
                action = choice if option < 0 else int(options[option][state])
                if action < 0:
                    break
                state, got, *_ = env.step(action)
                left, reward = left - 1, reward + got
                visited.add(state)
                if got:
                    state, _ = env.reset()
                if option < 0 or got:
                    break
        seen.append(len(visited))
        paid.append(reward)
    return Explored(np.array(seen, float), np.array(paid))


def main(seeds: int = SEEDS) -> None:
    cells = len(FourRooms().cells)
    print(f"{cells} cells, {EPISODES} episodes of {HORIZON} steps, seeds 0 to {seeds - 1}")
    rows = {"moves": [], "moves and options": []}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        found = LaplacianRepresentation(FUNCTIONS, samples=WALKED, random_state=seed).fit(FourRooms())
        purposes = [Eigenpurpose(FourRooms(), found, k, sign) for k in range(FUNCTIONS) for sign in (1.0, -1.0)]
        options = [practised(env, cells, rng) for env in purposes]
        for name, chosen in (("moves", []), ("moves and options", options)):
            rows[name].append(explored(chosen, rng))
    for name, runs in rows.items():
        for field in Explored._fields:
            means = np.array([getattr(run, field).mean() for run in runs])
            error = f" ± {means.std(ddof=1) / np.sqrt(len(means)):.2f}" if seeds > 1 else ""
            print(f"{name:20s} {field:8s} {means.mean():7.2f}{error}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""Grid worlds: maps of walls and free cells, and the steps between those."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from eigenax.errors import InputError

WALL, FREE = "X#", " ."
"""Characters of a map."""
MOVES = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)])
"""From a cell to its four neighbours."""


class Grid(NamedTuple):
    """Which cells of a map are free."""

    free: Bool[np.ndarray, "height width"]

    @property
    def cells(self) -> Int[np.ndarray, "cells 2"]:
        """(x, y) of each free cell, row by row."""
        return np.argwhere(self.free)[:, ::-1]

    @property
    def numbers(self) -> Int[np.ndarray, "height width"]:
        """The number of each free cell, −1 in walls."""
        numbers = np.full(self.free.shape, -1)
        numbers[self.free] = np.arange(self.free.sum())
        return numbers

    def edges(self) -> Int[np.ndarray, "edges 2"]:
        """The numbers of any two neighbouring free cells, each pair once."""
        n = self.numbers
        pairs = [np.stack([a.ravel(), b.ravel()], 1) for a, b in ((n[:, :-1], n[:, 1:]), (n[:-1], n[1:]))]
        both = np.concatenate(pairs)
        return both[(both >= 0).all(1)]

    def steps(self, count: int, seed: int = 0) -> Int[np.ndarray, "2 count"]:
        """Numbers of the cells before and after `count` random moves from random cells; walls stop a move."""
        rng, cells = np.random.default_rng(seed), self.cells
        before = rng.integers(0, len(cells), count)
        x, y = (cells[before] + MOVES[rng.integers(0, len(MOVES), count)]).T
        framed = np.pad(self.numbers, 1, constant_values=-1)
        after = framed[y + 1, x + 1]
        return np.stack([before, np.where(after >= 0, after, before)])

    def picture(self, values: Float[np.ndarray, " cells"]) -> Float[np.ndarray, "height width"]:
        """The values of the free cells as an image of the map, NaN in walls."""
        image = np.full(self.free.shape, np.nan)
        image[self.free] = values
        return image


def parse_map(text: str, name: str = "the map") -> Grid:
    """Read a map: X and # are walls, blanks and dots are free cells, and beyond the end of a line there is wall.

    >>> parse_map("XXXX\\nX  X\\nXXXX").cells.tolist()
    [[1, 1], [2, 1]]
    """
    lines = text.rstrip("\r\n").splitlines()
    longest = max(map(len, lines), default=0)
    for number, line in enumerate(lines, start=1):
        wrong = [c for c in line if c not in WALL + FREE]
        if wrong:
            raise InputError(
                f"{name}, line {number}: a map has X or # for walls and blanks or dots for free cells; got {wrong[0]!r}"
            )
        if len(line) < longest and not line.endswith(tuple(WALL)):
            raise InputError(
                f"{name}, line {number}: a line must end with a wall or be as long as the longest, {longest}; got "
                f"{len(line)} characters. Editors remove blanks at the end: dots are free cells too"
            )
    free = np.array([[c in FREE for c in line.ljust(longest, "X")] for line in lines], bool)
    if not free.any():
        raise InputError(f"{name} has no free cell: blanks or dots are free, X or # are walls")
    return Grid(free)


def read_map(name: str) -> Grid:
    """One of `MAPS` by name, or a map from a file."""
    if name in MAPS:
        return MAPS[name]()
    try:
        if not Path(name).is_file():
            raise InputError(f"--map: there is no file {name}; maps that need none are {', '.join(MAPS)}")
        return parse_map(Path(name).read_text(), name)
    except UnicodeDecodeError as error:
        raise InputError(f"--map: {name} is no text file") from error
    except OSError as error:
        raise InputError(f"--map: cannot read {name[:80]}: {error.strerror}") from error


def rooms(across: int, side: int, seed: int = 0) -> Grid:
    """`across` × `across` rooms of `side` × `side` cells, with a door at a random place of each wall between two."""
    rng, pitch = np.random.default_rng(seed), side + 1
    free = np.ones((across * pitch + 1, across * pitch + 1), bool)
    free[::pitch] = free[:, ::pitch] = False
    for k in range(across):
        for wall in range(1, across):
            free[k * pitch + 1 + rng.integers(side), wall * pitch] = True
            free[wall * pitch, k * pitch + 1 + rng.integers(side)] = True
    return Grid(free)


def maze(cells: int, seed: int = 0) -> Grid:
    """A maze without loops, with `cells` × `cells` places that a random walk joins, going back where it is stuck."""
    rng, free = np.random.default_rng(seed), np.zeros((2 * cells + 1, 2 * cells + 1), bool)
    free[1, 1], path = True, [np.array([1, 1])]
    while path:
        nearby = [path[-1] + 2 * move for move in MOVES]
        ahead = [p for p in nearby if (p > 0).all() and (p < 2 * cells).all() and not free[tuple(p)]]
        if not ahead:
            path.pop()
            continue
        step = ahead[rng.integers(len(ahead))]
        free[tuple((path[-1] + step) // 2)] = free[tuple(step)] = True
        path.append(step)
    return Grid(free)


def one_room(side: int) -> Grid:
    """A square of free cells inside four walls."""
    return Grid(np.pad(np.ones((side, side), bool), 1))


MAPS: dict[str, Callable[[], Grid]] = {
    "rooms": lambda: rooms(3, 5),
    "four-rooms": lambda: rooms(2, 5),
    "maze": lambda: maze(9),
    "room": lambda: one_room(15),
    "large-rooms": lambda: rooms(6, 5),
    "large-maze": lambda: maze(22),
}
"""The maps that are known by name."""

"""Grid worlds: eigenfunctions of the graph Laplacian of a map, from all its edges or from random steps."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from eigenax.lab.experiment import IterativeExperiment, Outcome, Preset

if TYPE_CHECKING:
    from eigenax.lab.baselines.graph import Graph
    from eigenax.lab.datasets.gridworlds import Grid
    from eigenax.sources.base import Source

ALIKE = 1e-6
"""Relative difference up to which eigenvalues of the whole graph count as equal."""
ALIKE_IN_STEPS = 1e-2
"""The same for the graph of random steps, where sampling splits eigenvalues that are equal on the whole graph."""


@dataclasses.dataclass(frozen=True)
class GridWorld(IterativeExperiment):
    """The smoothest functions of (x, y) over the free cells of a map, against the eigenvectors of its graph."""

    name: ClassVar[str] = "gridworld"
    summary: ClassVar[str] = (
        "smoothest functions on a map, from all its edges or from random steps, against the eigenvectors"
    )
    presets: ClassVar[dict[str, Preset]] = {"quick": Preset("a map of rooms, all its edges")}

    map: str = "rooms"
    """A file of X for walls and blanks for free cells, or rooms, four-rooms, maze, room, large-rooms or large-maze."""
    n: int = 11
    """Number of modes."""
    steps: int = 20
    """Bases to try at most, each with twice as many waves as the one before; the search ends long before that."""
    transitions: int = 0
    """Random steps to learn from, which are known by the coordinates of their cells alone; 0: all edges of the map."""

    def resolved(self) -> Self:
        """The same settings with the absolute path of a map that is a file."""
        from eigenax.lab.datasets.gridworlds import MAPS

        return self if self.map in MAPS else dataclasses.replace(self, map=str(Path(self.map).resolve()))

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        from eigenax.lab.datasets.gridworlds import read_map

        super().check()
        if self.transitions < 0:
            raise ValueError(f"--transitions must be at least 0; got {self.transitions}")
        grid = read_map(self.map)
        cells = len(grid.cells)
        if not len(grid.edges()):
            raise ValueError(f"--map has {cells} free cells and no two side by side: there is nowhere to go")
        if self.n > cells:
            raise ValueError(f"--n must be at most the number of free cells, {cells}; got {self.n}")

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Solve, then find the exact eigenvectors, and compare."""
        import time

        import numpy as np

        from eigenax.lab.baselines.graph import exact_modes
        from eigenax.lab.datasets.gridworlds import read_map
        from eigenax.lab.report.gridworld import draw_cosines, draw_modes
        from eigenax.lab.scores.cosines import matched
        from eigenax.lab.scores.spectrum import relative_errors
        from eigenax.operators.graph import GraphLaplacian

        grid = read_map(self.map)
        began = time.perf_counter()
        modes = self.solved(GraphLaplacian(), self._source(grid), folder, progress)
        seconds = time.perf_counter() - began
        graph = self._graph(grid)
        exact = exact_modes(graph, self.n)
        shown = graph.counts > 0
        learned = np.asarray(modes(grid.cells.astype(float)), np.float64)[shown]
        within = ALIKE_IN_STEPS if self.transitions else ALIKE
        found = matched(learned, exact.vectors[shown], exact.values, graph.counts[shown], within)
        errors = relative_errors(modes.eigenvalues, exact.values[: self.n])
        above_zero = errors[exact.values[: self.n] > 0]
        result = {
            "map": Path(self.map).stem,
            "cells": len(grid.cells),
            "transitions": self.transitions,
            "stopped": modes.stop_reason,
            "seconds": seconds,
            "exact": exact.values[: self.n],
            "relative_errors": errors,
            "mean_relative_error": float((above_zero if len(above_zero) else errors).mean()),
            "mean_cosine": float(found.cosines.mean()),
            "cosines": found.cosines,
            "columns": {"|cosine|": found.cosines},
            "notes": self._notes_on_steps(graph) if self.transitions else [],
        }
        turned = np.full((len(grid.cells), self.n), np.nan)
        turned[shown] = found.functions
        figures = {
            "modes": draw_modes(grid, exact.vectors[:, : self.n], turned, exact.values, modes.eigenvalues),
            "cosines": draw_cosines(found.cosines, errors),
        }
        return Outcome(modes, result, figures)

    def _notes_on_steps(self, graph: "Graph") -> list[str]:
        """Notes on the graph that the exact values belong to, where it is not that of the map."""
        from scipy.sparse.csgraph import connected_components

        seen = int((graph.counts > 0).sum())
        parts = connected_components(graph.laplacian, directed=False)[0] - len(graph.counts) + seen
        told = [
            f"exact values are those of the graph of the {self.transitions} steps between {seen} of "
            f"{len(graph.counts)} cells; they are about a quarter of the map's own, since a step is one of four moves"
        ]
        return told + [f"no step joins its {parts} parts: its first {parts} values are 0"] * (parts > 1)

    def _source(self, grid: "Grid") -> "Source":
        from eigenax.sources.graph import Graph
        from eigenax.sources.transitions import Transitions

        cells = grid.cells.astype(float)
        if self.transitions:
            before, after = grid.steps(self.transitions, self.seed)
            return Transitions(cells[before], cells[after])
        return Graph(grid.edges(), cells)

    def _graph(self, grid: "Grid") -> "Graph":
        """The graph that is learned from, with its cells numbered, which only the scores use."""
        from eigenax.lab.baselines.graph import graph_of_edges, graph_of_steps

        cells = len(grid.cells)
        if self.transitions:
            before, after = grid.steps(self.transitions, self.seed)
            return graph_of_steps(before, after, cells)
        return graph_of_edges(grid.edges(), cells)

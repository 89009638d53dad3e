"""What a problem is, and what comes out of one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import eigenax as ex


class Found(NamedTuple):
    """What was stated of each mode, beside what is true of it."""

    values: np.ndarray
    errors: np.ndarray
    marked: np.ndarray
    exact: np.ndarray
    """May be complex: then no real number is right."""
    exact_errors: Any = 0.0
    """Of what is measured itself, such as on a fresh film."""


class Problem(NamedTuple):
    name: str
    kind: str
    seconds: float
    """What it costs about on one core: the longest begin first."""
    run: Callable[[], Found]
    may_refuse: bool
    """It may be refused, in a sentence: an operator that is not symmetric, a surface with an edge."""


PROBLEMS: dict[str, Problem] = {}


def add(kind: str, name: str, seconds: float, run: Callable[[], Found], *, may_refuse: bool = False) -> None:
    if name in PROBLEMS:
        raise ValueError(f"two problems are named {name}")
    PROBLEMS[name] = Problem(name, kind, seconds, run, may_refuse)


def problem(kind: str, name: str, seconds: float, *, may_refuse: bool = False) -> Callable[[Any], Any]:
    """For a function that solves one problem with defaults, as a user would, and says what is true."""

    def of(run: Callable[[], Found]) -> Callable[[], Found]:
        add(kind, name, seconds, run, may_refuse=may_refuse)
        return run

    return of


def solved(operator: Any, source: Any, exact: Any, **settings: Any) -> Found:
    """As many modes as there are exact values, with nothing chosen."""
    exact = np.asarray(exact)
    modes = ex.solve(operator, source, len(exact), progress=False, **settings)
    return Found(modes.eigenvalues, modes.standard_errors, modes.unconverged, exact)


def schroedinger(potential: Callable[[Any], Any], kinetic: float = 1.0, **settings: Any) -> ex.Operator:
    """−kinetic ∇² + V."""
    return -kinetic * ex.Laplacian() + ex.Potential(potential, **settings)

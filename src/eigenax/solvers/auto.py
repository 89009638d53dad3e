"""The default: a solver that chooses another one by what the problem is."""

from typing import Any

from jaxtyping import PRNGKeyArray

from eigenax.modes import Modes
from eigenax.problem import Problem
from eigenax.solvers.base import Info, Solver
from eigenax.solvers.rayleigh_ritz import RayleighRitz
from eigenax.solvers.spin import SpIN


class AutoSolver(Solver):
    """What `solve` takes unless told otherwise: the first solver of this table that can; `modes.solver` says which.

    | solver | where |
    |---|---|
    | `RayleighRitz` | no network is given, and: a differential operator on a box or a surface; a kernel on any source of vectors; slowness, from the slowest on, of series of rows in memory; a graph Laplacian or slowness on a graph or steps between rows |
    | `SpIN` | everything else: a network is given, images, files that stay on the disk, the fastest functions of a series, other operators |

    >>> import eigenax as ex
    >>> problem = ex.Problem.checked(-ex.Laplacian(), ex.Box(0, 1), 2)
    >>> AutoSolver().resolved(problem).name
    'RayleighRitz'
    """  # noqa: E501

    def resolved(self, problem: Problem) -> Solver:
        """The first that can, ready for this problem; where none can, the last one says why."""
        *others, last = (RayleighRitz(), SpIN())
        return next((one for one in others if one.why_not(problem) is None), last).resolved(problem)

    def why_not(self, problem: Problem) -> str | None:
        """What the solver that it chooses cannot do."""
        return self.resolved(problem).why_not(problem)

    def init(self, problem: Problem, key: PRNGKeyArray) -> Any:
        """As the solver that it chooses."""
        return self.resolved(problem).init(problem, key)

    def step(self, problem: Problem, state: Any, key: PRNGKeyArray) -> tuple[Any, Info]:
        """As the solver that it chooses."""
        return self.resolved(problem).step(problem, state, key)

    def modes(self, problem: Problem, state: Any) -> Modes:
        """As the solver that it chooses."""
        return self.resolved(problem).modes(problem, state)

    def total(self, problem: Problem, state: Any) -> int:
        """As the solver that it chooses."""
        return self.resolved(problem).total(problem, state)

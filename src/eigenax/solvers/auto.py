"""The default: a choice of another solver by what the problem is."""

from eigenax.problem import Problem
from eigenax.solvers.base import Solver, SolverChoice
from eigenax.solvers.rayleigh_ritz import RayleighRitz
from eigenax.solvers.spin import SpIN


class AutoSolver(SolverChoice):
    """What `solve` takes unless told otherwise: the first solver of this table that can; `modes.solver` says which.

    | solver | where |
    |---|---|
    | `RayleighRitz` | no network and no sampler is given, and: a differential operator on a box or a surface; a kernel on any source of vectors; slowness, from the slowest on, of series of rows in memory; a graph Laplacian or slowness on a graph or steps between rows, by the eigensolvers of SciPy where nodes or states are numbered or seen again: `modes.stop_reason` is `DECOMPOSED` |
    | `SpIN` | everything else: a network or a sampler is given, images, files that stay on the disk, the fastest functions of a series, other operators |

    >>> import eigenax as ex
    >>> problem = ex.Problem.checked(-ex.Laplacian(), ex.Box(0, 1), 2)
    >>> AutoSolver().resolved(problem).name
    'RayleighRitz'
    """  # noqa: E501

    def resolved(self, problem: Problem) -> Solver:
        """The first that can, ready for this problem; where none can, the last one says why."""
        *others, last = (RayleighRitz(), SpIN())
        return next((one for one in others if one.why_not(problem) is None), last).resolved(problem)

"""The default solver, which chooses another one by the kind of problem."""

from eigenax.problem import Problem
from eigenax.solvers.base import Solver, SolverChoice
from eigenax.solvers.rayleigh_ritz import RayleighRitz
from eigenax.solvers.spin import SpIN


class AutoSolver(SolverChoice):
    """The default of `solve`: the first solver of this table that can solve the problem; `modes.solver` names it.

    | solver | where |
    |---|---|
    | `RayleighRitz` | no network and no sampler is given, and the problem is one of: a differential operator on a box or a surface; a kernel on any source of vectors; the slowest functions of series of rows in memory; a graph Laplacian or slowness on a graph or on steps between rows. Where nodes or states are numbered or occur repeatedly, SciPy decomposes the matrix, and `modes.stop_reason` is `DECOMPOSED` |
    | `SpIN` | everything else: a network or a sampler is given; images; files that stay on disk; the fastest functions of a series; other operators |

    >>> import eigenax as ex
    >>> problem = ex.Problem.checked(-ex.Laplacian(), ex.Box(0, 1), 2)
    >>> AutoSolver().resolved(problem).name
    'RayleighRitz'
    """  # noqa: E501

    def resolved(self, problem: Problem) -> Solver:
        """The first solver that can; if none can, the last one, which then refuses the problem with a reason."""
        *others, last = (RayleighRitz(), SpIN())
        return next((one for one in others if one.why_not(problem) is None), last).resolved(problem)

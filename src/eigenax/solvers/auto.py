"""The default solver, which chooses another one by the kind of problem."""

from eigenax.locate.diffusion_monte_carlo import can_diffuse
from eigenax.problem import Problem
from eigenax.solvers.base import Solver, SolverChoice
from eigenax.solvers.gauss_newton import RayleighGaussNewton
from eigenax.solvers.many_dims import FEW_DIMS
from eigenax.solvers.rayleigh_ritz import RayleighRitz
from eigenax.solvers.spin import SpIN
from eigenax.solvers.waves_then_training import WavesThenTraining

MOST_DIMS_OF_WAVES = 8
"""In more dimensions than this, a few hundred waves are not worth trying."""


class AutoSolver(SolverChoice):
    """The default of `solve`: the first solver of this table that can solve the problem; `modes.solver` names it.

    | solver | where |
    |---|---|
    | `WavesThenTraining` | −D∇² + V on a box of 4 to 8 dimensions, no network and no sampler given: `RayleighRitz`, and `RayleighGaussNewton` if the errors of its first basis are large |
    | `RayleighGaussNewton` | the same in more dimensions |
    | `RayleighRitz` | no network and no sampler is given, and the problem is one of: a differential operator on a box or a surface; a kernel on any source of vectors; the slowest functions of series of rows in memory; a graph Laplacian or slowness on a graph or on steps between rows. Where nodes or states are numbered or occur repeatedly, SciPy decomposes the matrix, and `modes.stop_reason` is `DECOMPOSED` |
    | `SpIN` | everything else: a network or a sampler is given; images; files that stay on disk; the fastest functions of a series; other operators |

    >>> import eigenax as ex
    >>> problem = ex.Problem.checked(-ex.Laplacian(), ex.Box(0, 1), 2)
    >>> AutoSolver().resolved(problem).name
    'RayleighRitz'
    """  # noqa: E501

    def resolved(self, problem: Problem) -> Solver:
        """The first solver that can; if none can, the last one, which then refuses the problem with a reason."""
        *others, last = (*_in_many_dims(problem), RayleighRitz(), SpIN())
        return next((one for one in others if one.why_not(problem) is None), last).resolved(problem)


def _in_many_dims(problem: Problem) -> tuple[Solver, ...]:
    """The solvers for −D∇² + V on a box of many dimensions, where the user has left network and points open."""
    box = None if problem.domain is None else problem.domain.flat
    given = problem.network is not None or problem.sampler is not problem.source
    if box is None or given or problem.source.density is not box or len(box.low) <= FEW_DIMS:
        return ()
    if not (problem.operator.differential and can_diffuse(problem.descending, box)):
        return ()
    return (WavesThenTraining(),) if len(box.low) <= MOST_DIMS_OF_WAVES else (RayleighGaussNewton(),)

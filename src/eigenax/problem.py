"""The problem: an operator, a source of points, and how many eigenfunctions at which end of the spectrum."""

import dataclasses
import numbers
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from eigenax.boundary_check import warn_of_violations
from eigenax.checks import as_array, as_seed, check_choice, check_dense, positive_int, positive_int_or_none
from eigenax.core.batch import Batch
from eigenax.core.compiled import for_one_run
from eigenax.core.precision import full_precision
from eigenax.domains.base import Domain
from eigenax.modes import Which
from eigenax.operators.base import Operator
from eigenax.operators.check_applies import check_applies
from eigenax.sources.arrays import Arrays
from eigenax.sources.base import Sampler, Source
from eigenax.sources.time_series import TimeSeries
from eigenax.sources.uniform import as_sampler


@dataclasses.dataclass(frozen=True)
class Problem:
    """All that is asked of a solver, which fills in fields that are None with `dataclasses.replace`."""

    operator: Operator
    sampler: Sampler
    n: int
    which: Which = "smallest"
    network: Any = None
    """The network that represents the functions."""
    tol: float | None = None
    """The relative accuracy asked of eigenvalues; see `driver.stopping`."""
    max_steps: int | None = None
    seed: int = 0
    progress: bool = False
    """Whether to show progress bars."""

    @classmethod
    def checked(
        cls,
        operator: Any,
        source: Any,
        n: Any,
        *,
        which: Any = "smallest",
        network: Any = None,
        tol: Any = None,
        max_steps: Any = None,
        seed: Any = 0,
        progress: bool = False,
    ) -> "Problem":
        """Make a problem whose parts fit together; an error says in one sentence what does not fit."""
        _check_operator(operator)
        sampler = _sampler_for(operator, source)
        _check_sampler(operator, sampler, network)
        check_choice("which", which, get_args(Which))
        if tol is not None and not (isinstance(tol, numbers.Real) and 0 < float(tol) < 1):
            raise ValueError(f"tol must be a relative accuracy between 0 and 1, such as 1e-3; got {tol!r}")
        _check_bounded(operator, which)
        n, max_steps = positive_int("n", n), positive_int_or_none("max_steps", max_steps)
        tol = None if tol is None else float(tol)
        return cls(operator, sampler, n, which, network, tol, max_steps, as_seed(seed), bool(progress))

    @property
    def source(self) -> Source:
        """The source that results are measured on."""
        return self.sampler.source

    @property
    def domain(self) -> Domain | None:
        """The domain, if points can be drawn on it at will; None for data."""
        return self.source.domain

    @property
    def sign(self) -> float:
        """+1 if the smallest eigenvalues are asked for, −1 if the largest are."""
        return 1.0 if self.which == "smallest" else -1.0

    @property
    def descending(self) -> Operator:
        """The operator times `sign`: the eigenvalues asked for are the smallest ones of this operator."""
        return self.sign * self.operator

    def look(self, n: int | None = None) -> None:
        """Check operator and source on a few points, and that n functions can be told apart there."""
        drawn = _checked_batch(self.source)
        _check_distinct(drawn, self.n if n is None else n)
        self.operator.check(drawn)
        check_applies(self.operator, _probe_functions, drawn)

    def fingerprint(self) -> list[float]:
        """A few numbers that tell this operator and network from others: ⟨u, K u⟩ of some functions u.

        The mean of K u would not do: it is mere rounding error if constants are eigenfunctions of K. Where points can
        be drawn at will, enough are drawn to notice a change in a hundredth of the domain.
        """
        functions = eqx.Partial(_probe_functions) if self.network is None else self.network
        points = 1024 if self.source.is_endless else 8
        with full_precision():
            found = np.asarray(_quotients(self.operator, self.source, functions, points))
        return [*np.real(found).astype(float).tolist(), *np.imag(found).astype(float).tolist()]


def _probe_functions(x: Array) -> Array:
    """Two functions of a point of any shape, by whose ⟨u, K u⟩ problems are told apart."""
    return jnp.stack([jnp.sin(jnp.sum(x)), jnp.cos(jnp.sum(x * jnp.arange(1, x.size + 1).reshape(x.shape)))])


@for_one_run
def _quotients(operator: Operator, source: Source, functions: Any, points: int) -> Array:
    return jnp.diag(operator.moments(functions, source.sample(jax.random.key(0), points)).pi)


def _check_operator(operator: Any) -> None:
    if not isinstance(operator, Operator):
        hint = ": call it" if isinstance(operator, type) and issubclass(operator, Operator) else ""
        raise TypeError(
            "operator must be an eigenax operator such as -Laplacian() + Potential(V); got "
            f"{operator if hint else type(operator).__name__}{hint}"
        )


def _sampler_for(operator: Operator, source: Any) -> Any:
    """The sampler. An array is a time series for operators in time, and rows of points for integral operators."""
    check_dense("source", source)
    if operator.in_time and isinstance(source, np.ndarray | jax.Array | list | tuple):
        return TimeSeries(source)
    if operator.integral and isinstance(source, np.ndarray | jax.Array | list | tuple):
        return Arrays(as_array("source", source))
    return as_sampler(source)


def _check_sampler(operator: Operator, sampler: Any, network: Any) -> None:
    """Refuse what is not a sampler, or does not fit the operator."""
    if not isinstance(sampler, Sampler):
        raise TypeError(
            "source must be an eigenax domain or source such as Box(-5, 5, dims=2), or an array for Kernel and "
            f"Slowness; got {type(sampler).__name__}"
        )
    source = sampler.source
    if operator.acts_on is not source.draws:
        raise TypeError(
            f"the operator acts on {operator.acts_on.__name__}, but {type(source).__name__} draws "
            f"{source.draws.__name__}: Slowness and GraphLaplacian need a source of pairs (TimeSeries, Graph or "
            "Transitions), the others single points"
        )
    obeys_nothing = operator.differential and not operator.weak and network is None
    edge = source.domain.open_edge() if obeys_nothing and source.domain is not None else None
    if edge is not None:
        raise ValueError(
            f"the {type(source.domain).__name__} has an edge at {edge}, where functions of points in space obey no "
            "boundary condition. The operator is not symmetric on them, and its eigenvalues would mean nothing. Take a "
            "closed surface, such as sphere(), or a Box, whose boundary conditions are obeyed"
        )
    if operator.cartesian and source.domain is not None and source.domain.embedding is not None:
        raise ValueError(
            f"Laplacian takes the parameters of the {type(source.domain).__name__} for coordinates of flat space, and "
            "its eigenvalues would mean nothing there: take LaplaceBeltrami(surface.embedding)"
        )
    if sampler.local_only and not operator.local:
        raise ValueError(
            f"{type(sampler).__name__} draws a point more than once, which only local operators allow; give the source "
            "inside it instead"
        )


def _check_bounded(operator: Operator, which: str) -> None:
    """Refuse to look for eigenvalues at an end of the spectrum where it is unbounded."""
    if operator.unbounded == (-1 if which == "smallest" else 1):
        other = "largest" if which == "smallest" else "smallest"
        raise ValueError(
            f"the operator has no {which} eigenvalue, its spectrum is unbounded there: ask for which={other!r}, "
            "or change its sign (a kinetic energy is -Laplacian())"
        )


def _checked_batch(source: Source) -> Batch:
    """A small batch, refused if it is not of the class that the source declares."""
    drawn = _small_batch(source)
    if not isinstance(drawn, source.draws):
        raise TypeError(
            f"{type(source).__name__}.sample must return {source.draws.__name__}(x, …); it returned "
            f"{type(drawn).__name__}"
        )
    return drawn


@for_one_run
def _small_batch(source: Source) -> Any:
    """A batch of 256 draws, compiled as a whole: a GPU would otherwise compile each small operation by itself."""
    return source.sample(jax.random.key(0), 256)


def _check_distinct(drawn: Batch, n: int) -> None:
    """Refuse a source with fewer distinct points than functions that should differ on them."""
    points = np.asarray(drawn.x)
    distinct = len({point.tobytes() for point in points})  # np.unique would take ten seconds to sort images
    if distinct < min(n, len(points)):
        raise ValueError(f"n = {n} functions cannot be told apart on {distinct} different points; more are needed")


def check_network(problem: Problem, spare: int = 0) -> None:
    """Refuse a network that does not map a point to n values (or up to `spare` more), or has nothing to train.

    Warn of a network that violates the boundary conditions that make the operator symmetric.
    """
    network, shape = problem.network, problem.source.shape
    try:
        returned = jax.eval_shape(network, jax.ShapeDtypeStruct(shape, jnp.zeros(()).dtype)).shape
    except TypeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"network must take one point of shape {shape}; it does not: {reason}") from error
    if not jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)):
        raise ValueError("network must be an equinox module with arrays to train; this one has none")
    if len(returned) != 1 or not problem.n <= returned[0] <= problem.n + spare:
        raise ValueError(
            f"network must return n = {problem.n} values for a point of shape {shape}; it returns {returned}"
        )
    if problem.operator.wants_boundary and problem.domain is not None:
        warn_of_violations(problem.domain, problem.source, network)

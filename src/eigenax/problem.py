"""What is asked: an operator, points, and how many eigenfunctions at which end of the spectrum."""

import dataclasses
import numbers
import warnings
from collections.abc import Callable
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from eigenax.checks import as_array, as_seed, check_choice, check_dense, positive_int, positive_int_or_none
from eigenax.core.batch import Batch
from eigenax.core.precision import full_precision
from eigenax.domains.base import Domain
from eigenax.modes import Which
from eigenax.operators.base import Operator, check_applies
from eigenax.sources.arrays import Arrays
from eigenax.sources.base import Sampler, Source
from eigenax.sources.time_series import TimeSeries
from eigenax.sources.uniform import as_sampler


@dataclasses.dataclass(frozen=True)
class Problem:
    """All that is asked of a solver. Fields that are None are for the solver to fill in, with `dataclasses.replace`."""

    operator: Operator
    sampler: Sampler
    n: int
    which: Which = "smallest"
    network: Any = None
    """That represents the functions."""
    tol: float | None = None
    """The accuracy asked of eigenvalues; see `driver.stopping`."""
    max_steps: int | None = None
    seed: int = 0
    progress: bool = False
    """Whether to show what takes long."""

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
        """A problem whose parts fit together, or one sentence on what does not."""
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
        """Where results are measured."""
        return self.sampler.source

    @property
    def domain(self) -> Domain | None:
        """Where functions live, if points can be drawn there at will."""
        return self.source.domain

    @property
    def sign(self) -> float:
        """−1 where the largest eigenvalues are asked for."""
        return 1.0 if self.which == "smallest" else -1.0

    @property
    def descending(self) -> Operator:
        """The operator, or minus it, so that the eigenvalues asked for are the smallest."""
        return self.sign * self.operator

    def look(self, n: int | None = None) -> None:
        """Look at what operator and source do on a few points, and whether n functions can differ there."""
        drawn = _drawn(self.source)
        _check_distinct(drawn, self.n if n is None else n)
        self.operator.check(drawn)
        check_applies(self.operator, _of_any_point, drawn)

    def fingerprint(self) -> list[float]:
        """A few numbers that another operator or network would change: ⟨u, K u⟩ of some functions.

        Not the mean of K u, which is nothing but rounding where K has constants as eigenfunctions. Points that can be
        drawn at will are enough to see what changes in a hundredth of the domain.
        """
        functions = eqx.Partial(_of_any_point) if self.network is None else self.network
        points = 1024 if self.source.is_endless else 8
        with full_precision():
            found = np.asarray(_quotients(self.operator, self.source, functions, points))
        return [*np.real(found).astype(float).tolist(), *np.imag(found).astype(float).tolist()]


def _of_any_point(x: Array) -> Array:
    """Functions of any point, to tell one problem from another by."""
    return jnp.stack([jnp.sin(jnp.sum(x)), jnp.cos(jnp.sum(x * jnp.arange(1, x.size + 1).reshape(x.shape)))])


@eqx.filter_jit
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
    """What draws points; an array is a series where the operator looks at time, and rows where it is a kernel."""
    check_dense("source", source)
    if operator.in_time and isinstance(source, np.ndarray | jax.Array | list | tuple):
        return TimeSeries(source)
    if operator.integral and isinstance(source, np.ndarray | jax.Array | list | tuple):
        return Arrays(as_array("source", source))
    return as_sampler(source)


def _check_sampler(operator: Operator, sampler: Any, network: Any) -> None:
    """Refuse what is none, or does not fit the operator."""
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
            "boundary condition, and the operator is not symmetric: eigenvalues would mean nothing. Take a closed one, "
            "such as sphere(), or a Box, whose boundary is obeyed"
        )
    if sampler.local_only and not operator.local:
        raise ValueError(
            f"{type(sampler).__name__} draws a point more than once, which only local operators allow; give the source "
            "inside it instead"
        )


def _check_bounded(operator: Operator, which: str) -> None:
    """Refuse to look for the smallest eigenvalue of what has none."""
    if operator.unbounded == (-1 if which == "smallest" else 1):
        other = "largest" if which == "smallest" else "smallest"
        raise ValueError(
            f"the operator has no {which} eigenvalue, they go on without end: ask for which={other!r}, "
            "or change its sign (a kinetic energy is -Laplacian())"
        )


def _drawn(source: Source) -> Batch:
    """A few points, refused if the source returns something else."""
    drawn = _sample(source)
    if not isinstance(drawn, source.draws):
        raise TypeError(
            f"{type(source).__name__}.sample must return {source.draws.__name__}(x, …); it returned "
            f"{type(drawn).__name__}"
        )
    return drawn


@eqx.filter_jit
def _sample(source: Source) -> Any:
    """Compiled: a GPU would compile every small step of it by itself otherwise."""
    return source.sample(jax.random.key(0), 256)


def _check_distinct(drawn: Batch, n: int) -> None:
    """Refuse a source with fewer different points than functions that should differ on them."""
    points = np.asarray(drawn.x)
    distinct = len({point.tobytes() for point in points})  # np.unique would sort images for ten seconds
    if distinct < min(n, len(points)):
        raise ValueError(f"n = {n} functions cannot be told apart on {distinct} different points; more are needed")


OBEYING = {
    "dirichlet": ("does not vanish", "Multiply(DirichletFactor(box), network)"),
    "neumann": (
        "has a slope",
        "Compose(BoundaryCoordinates(box), network), a network of BoundaryCoordinates(box).size inputs",
    ),
    "periodic": (
        "is not periodic",
        "Compose(BoundaryCoordinates(box), network), a network of BoundaryCoordinates(box).size inputs",
    ),
}
"""What a network does wrong at each kind of face, and how to mend it."""


def check_network(problem: Problem) -> None:
    """Refuse a network that does not take a point to n values, or has nothing to train; warn of one that does not obey
    the boundary of a box, without which the operator is not symmetric."""
    network, shape = problem.network, problem.source.shape
    try:
        returned = jax.eval_shape(network, jax.ShapeDtypeStruct(shape, jnp.zeros(()).dtype)).shape
    except TypeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"network must take one point of shape {shape}; it does not: {reason}") from error
    if not jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)):
        raise ValueError("network must be an equinox module with arrays to train; this one has none")
    if returned != (problem.n,):
        raise ValueError(
            f"network must return n = {problem.n} values for a point of shape {shape}; it returns {returned}"
        )
    if problem.operator.wants_boundary and problem.domain is not None:
        _check_faces(problem.domain, problem.source, network)


def _check_faces(domain: Domain, source: Source, network: Any) -> None:
    inside, looks, box = source.sample(jax.random.key(0), 64).x, _values_and_slopes(network), domain.box
    for axis, pair in enumerate(domain.faces):
        for kind in dict.fromkeys(pair):
            at = {"lower": box.low[axis], "upper": box.high[axis]}
            at = {name: face for (name, face), does in zip(at.items(), pair, strict=True) if does == kind}
            if not _disobeys(looks, inside, axis, kind, list(at.values())):
                continue
            (what, instead), where = OBEYING[kind], "faces" if len(at) == 2 else f"{next(iter(at))} face"
            warnings.warn(
                f"the network {what} at the {where} of axis {axis} of the box, whose boundary is {kind!r}, and the "
                f"operator is symmetric only for functions that obey it; eigenvalues may mean nothing. Take {instead}",
                RuntimeWarning,
                stacklevel=6,
            )


Look = Callable[[Array, int], Array]


def _values_and_slopes(network: Any) -> tuple[Look, Look]:
    """Functions of points and an axis, compiled once for all axes."""

    def slope(x: Array, axis: Int[Array, ""]) -> Array:
        return jax.jvp(network, (x,), (jnp.zeros_like(x).at[axis].set(1.0),))[1]

    values, slopes = (jax.jit(jax.vmap(look, (0, None))) for look in (lambda x, axis: network(x), slope))
    return values, slopes


def _disobeys(looks: tuple[Look, Look], inside: Array, axis: int, kind: str, faces: list[float]) -> bool:
    """Whether values, or slopes, are others than they may be on some of the faces of an axis."""
    values_at, slopes_at = looks
    for at in {"dirichlet": [values_at], "neumann": [slopes_at], "periodic": [values_at, slopes_at]}[kind]:
        on_faces, values = [at(inside.at[:, axis].set(face), axis) for face in faces], at(inside, axis)
        wrong = [on_faces[0] - on_faces[1]] if kind == "periodic" else on_faces
        usual = [values, *on_faces] if kind == "periodic" else [values]
        largest, expected = (jnp.abs(jnp.concatenate(parts)).max(0) for parts in (wrong, usual))
        if bool((largest > 1e-2 * expected).any()):
            return True
    return False

"""What a user hands to `solve`, looked at before anything is trained: one sentence for whatever is wrong."""

import numbers
import warnings
from collections.abc import Callable, Sequence
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from eigenax.core.batch import Batch
from eigenax.modes import Which
from eigenax.operators.base import Operator
from eigenax.solvers.base import Solver
from eigenax.solvers.galerkin import Galerkin
from eigenax.sources.adaptive import Adaptive
from eigenax.sources.base import Source
from eigenax.sources.mixture import box_of


def whole(name: str, value: Any) -> int:
    """A whole number of at least one, or an error."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")
    return int(value)


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of the words allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be {' or '.join(repr(a) for a in allowed)}; got {value!r}")


def as_seed(seed: Any) -> int:
    """A seed, or an error."""
    if not isinstance(seed, numbers.Integral) or not 0 <= int(seed) < 2**32:
        raise ValueError(f"seed must be a whole number of at least 0 and below 2**32; got {seed!r}")
    return int(seed)


def check_tolerance(tolerance: Any) -> None:
    """Refuse a tolerance that no residual could be compared with."""
    if tolerance is not None and not (isinstance(tolerance, numbers.Real) and float(tolerance) > 0):
        raise ValueError(f"tolerance must be a positive number, a bound on the residual norms; got {tolerance!r}")


def check_parts(operator: Any, source: Any, solver: Any, callbacks: Any) -> None:
    """Refuse parts of the wrong kind, or that do not fit together."""
    if not isinstance(operator, Operator):
        raise TypeError(
            f"operator must be an eigenax operator such as -Laplacian() + Potential(V); got {type(operator).__name__}"
        )
    if not isinstance(source, Source):
        raise TypeError(f"source must be an eigenax source such as Box(-5, 5, dims=2); got {type(source).__name__}")
    if operator.acts_on is not source.draws:
        raise TypeError(
            f"the operator acts on {operator.acts_on.__name__}, but {type(source).__name__} draws "
            f"{source.draws.__name__}: Slowness and GraphLaplacian need a source of pairs (Clips, Transitions, Steps), "
            "the others single points"
        )
    if isinstance(source, Adaptive) and not operator.local:
        raise ValueError(
            "Adaptive draws a point more than once, which only local operators allow; give the source inside it instead"
        )
    if not isinstance(solver, Solver | Galerkin | None):
        hint = ": call it" if isinstance(solver, type) else ""
        raise TypeError(f"solver must be an eigenax solver such as SpIN(optax.adam(1e-3)); got {solver!r}{hint}")
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise TypeError(f"callbacks must be a sequence of functions, such as [print]; got {callbacks!r}")


def check_problem(operator: Operator, source: Source, n: int, which: str) -> None:
    """Look at what operator and source do on a few points, and whether n modes at that end can be had of them."""
    check_choice("which", which, get_args(Which))
    check_bounded(operator, which)
    drawn = draw(source)
    check_distinct(drawn, n)
    operator.check(drawn)


def check_bounded(operator: Operator, which: str) -> None:
    """Refuse to look for the smallest eigenvalue of what has none."""
    if operator.unbounded == (-1 if which == "smallest" else 1):
        other = "largest" if which == "smallest" else "smallest"
        raise ValueError(
            f"the operator has no {which} eigenvalue, they go on without end: ask for which={other!r}, "
            "or change its sign (a kinetic energy is -Laplacian())"
        )


def draw(source: Source) -> Batch:
    """A few points, refused if the source returns something else."""
    # Compiled: a GPU would compile every small step of it by itself otherwise.
    drawn = eqx.filter_jit(lambda source, key: source.sample(key, 256))(source, jax.random.key(0))
    if not isinstance(drawn, source.draws):
        raise TypeError(
            f"{type(source).__name__}.sample must return {source.draws.__name__}(x, …); it returned "
            f"{type(drawn).__name__}"
        )
    return drawn


def check_distinct(drawn: Batch, n: int) -> None:
    """Refuse a source with fewer different points than functions that should differ on them."""
    points = np.asarray(drawn.x)
    distinct = len({point.tobytes() for point in points})  # np.unique would sort images for ten seconds
    if distinct < min(n, len(points)):
        raise ValueError(f"n = {n} functions cannot be told apart on {distinct} different points; more are needed")


OBEYING = {
    "zero": ("does not vanish", "Bounded(Walls(box), network)"),
    "free": ("has a slope", "OnInputs(Edges(box), network), a network of Edges(box).size inputs"),
    "periodic": ("is not periodic", "OnInputs(Edges(box), network), a network of Edges(box).size inputs"),
}
"""What a network does wrong at each kind of face, and how to mend it."""


def check_edge(operator: Operator, source: Source, network: Any) -> None:
    """Warn of a network that does not obey the boundary of a box, without which the operator is not symmetric."""
    box = box_of(source)
    if not operator.wants_boundary or box is None:
        return
    inside = source.sample(jax.random.key(0), 64).x
    looks = _values_and_slopes(network)
    for axis, kind in enumerate(box.boundary):
        if _disobeys(looks, inside, axis, kind, box.low[axis], box.high[axis]):
            what, instead = OBEYING[kind]
            warnings.warn(
                f"the network {what} at the faces of axis {axis} of the box, whose boundary is {kind!r}, and the "
                f"operator is symmetric only for functions that obey it; eigenvalues may mean nothing. Take {instead}",
                RuntimeWarning,
                stacklevel=4,
            )


Look = Callable[[Array, int], Array]


def _values_and_slopes(network: Any) -> tuple[Look, Look]:
    """Functions of points and an axis, compiled once for all axes."""

    def slope(x: Array, axis: Int[Array, ""]) -> Array:
        return jax.jvp(network, (x,), (jnp.zeros_like(x).at[axis].set(1.0),))[1]

    values, slopes = (jax.jit(jax.vmap(look, (0, None))) for look in (lambda x, axis: network(x), slope))
    return values, slopes


def _disobeys(looks: tuple[Look, Look], inside: Array, axis: int, kind: str, low: float, high: float) -> bool:
    values_at, slopes_at = looks
    at_low, at_high = (inside.at[:, axis].set(face) for face in (low, high))
    for at in {"zero": [values_at], "free": [slopes_at], "periodic": [values_at, slopes_at]}[kind]:
        low_values, high_values, values = (at(x, axis) for x in (at_low, at_high, inside))
        wrong = [low_values - high_values] if kind == "periodic" else [low_values, high_values]
        usual = [values, low_values, high_values] if kind == "periodic" else [values]
        largest, expected = (jnp.abs(jnp.concatenate(parts)).max(0) for parts in (wrong, usual))
        if bool((largest > 1e-2 * expected).any()):
            return True
    return False


def check_batch(source: Source, n: int, batch: int) -> None:
    """Refuse batches whose Σ cannot have full rank, for a solver that begins without averaging."""
    points = jax.eval_shape(lambda key: source.sample(key, batch), jax.random.key(0)).x.shape[0]
    if points < n:
        raise ValueError(
            f"batch must have at least n = {n} points, since fewer cannot tell {n} functions apart; got {points}. "
            "Enlarge it, or give a solver that averages over batches from the start, such as SpIN(…, rate=0.01)"
        )


def check_network(network: Any, source: Source, n: int) -> None:
    """Refuse a network that does not take a point to n values, or has nothing to train."""
    try:
        shape = jax.eval_shape(network, jax.ShapeDtypeStruct(source.shape, jnp.zeros(()).dtype)).shape
    except TypeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"network must take one point of shape {source.shape}; it does not: {reason}") from error
    if not jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)):
        raise ValueError("network must be an equinox module with arrays to train; this one has none")
    if shape != (n,):
        raise ValueError(f"network must return n = {n} values for a point of shape {source.shape}; it returns {shape}")

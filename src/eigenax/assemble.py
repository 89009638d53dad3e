"""Puts the parts together: operator, source, network and solver in, modes out."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from eigenax.checks import (
    as_seed,
    check_batch,
    check_choice,
    check_edge,
    check_network,
    check_parts,
    check_problem,
    check_tolerance,
    whole,
)
from eigenax.core.precision import Precision, counting_in, full_precision
from eigenax.core.ritz import Finish
from eigenax.galerkin.cloud import source_around
from eigenax.galerkin.graph import graph_modes
from eigenax.galerkin.graph import start as start_on_graph
from eigenax.galerkin.kernels import is_kernel, kernel_modes
from eigenax.galerkin.rounds import Problem, first_cloud, run_rounds
from eigenax.galerkin.rounds import start as start_rounds
from eigenax.galerkin.trainable import network_around
from eigenax.measurement import FRESH, measure
from eigenax.modes import Modes, Which
from eigenax.networks.base import in_precision
from eigenax.networks.default import default_network
from eigenax.operators.base import Operator
from eigenax.solvers.base import Solver
from eigenax.solvers.galerkin import Galerkin
from eigenax.solvers.schedules import following
from eigenax.solvers.spin import SpIN
from eigenax.sources.adaptive import plain
from eigenax.sources.base import Source, is_rows
from eigenax.sources.distribution import Distribution
from eigenax.sources.mixture import Component, box_of
from eigenax.sources.steps import Steps
from eigenax.sources.surface import is_place
from eigenax.sources.transitions import Transitions
from eigenax.training.loop import Callback, Moment, start, train
from eigenax.training.progress import progress_bar
from eigenax.training.session import Resumed, Session
from eigenax.training.state import RunState


def solve(
    operator: Operator,
    source: Source | Component,
    n: int,
    *,
    which: Which = "smallest",
    network: Any = None,
    solver: Solver | Galerkin | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    batch: int = 256,
    seed: int = 0,
    finish: Finish | None = None,
    samples: int | None = None,
    precision: Precision = "float32",
    folder: str | PathLike[str] | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    log_every: int | None = None,
) -> Modes:
    """The first n eigenfunctions of an operator, learned from the points a source draws.

    Network and solver are chosen for the problem unless given: `Galerkin` for a local operator on a box or a surface,
    for the Laplacian of a graph, where `steps` are its rounds and `batch` is not used, and for a kernel of rows of
    numbers, which takes seconds, unless `steps`, `tolerance`, a `folder` or callbacks are given; otherwise `SpIN`. A
    source may also be a density such as `Gaussian`. A solver that trains on a plain box draws points where walkers find
    the states, unless a network is given: `modes.source` says where. Training ends when every residual norm is at most
    `tolerance`; without one when they no longer fall, and after `steps` at the latest: `modes.stopped` says which.
    Eigenvalues, standard errors and residuals come from `samples` fresh points, 2¹⁷ after training. `finish` is "ritz",
    the best combinations of the last hidden layer, where the operator is local, and otherwise "rotate". With a
    `folder`, metrics and checkpoints are written there, and the same call goes on from them after a crash or Ctrl-C, to
    the same bits. Callbacks see every log point, `log_every` steps.

    >>> import eigenax as ex
    >>> well = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
    >>> modes = ex.solve(well, ex.Box(-6, 6, dims=1), n=3, progress=False)
    >>> modes.eigenvalues.round(4)
    array([1., 3., 5.])
    """
    if isinstance(source, Component) and not isinstance(source, Source):
        source = Distribution(source)
    finish = finish or ("ritz" if _is_differential(operator) else "rotate")
    check_choice("finish", finish, get_args(Finish))
    check_choice("precision", precision, get_args(Precision))
    if samples is not None:
        samples = whole("samples", samples)
    batch = whole("batch", batch)
    check_tolerance(tolerance)
    check_parts(operator, source, solver, callbacks)
    n, seed = whole("n", n), as_seed(seed)
    untrained = steps is None and tolerance is None and folder is None and not callbacks
    of_rows = network is None and is_kernel(operator) and is_rows(source)
    if of_rows and (isinstance(solver, Galerkin) or (solver is None and untrained)):
        check_choice("which", which, get_args(Which))
        return kernel_modes(operator, plain(source), n, which=which, seed=seed, solver=solver, progress=progress)
    on_graph = operator.differences is not None and isinstance(source, Transitions | Steps) and is_rows(source)
    check_problem(operator, plain(source), 1 if on_graph else n, which)
    if solver is None and network is None and (on_graph or (is_place(source) and _is_differential(operator))):
        solver = Galerkin()
    if isinstance(solver, Galerkin) and on_graph and network is None:
        return _on_graph(
            operator, source, n, which=which, solver=solver, steps=steps, tolerance=tolerance, seed=seed, folder=folder,
            callbacks=callbacks, progress=progress,
        )  # fmt: skip
    if isinstance(solver, Galerkin):
        return _by_rounds(
            operator, source, n, which=which, network=network, solver=solver, steps=steps, tolerance=tolerance,
            seed=seed, samples=samples, folder=folder, callbacks=callbacks, progress=progress,
        )  # fmt: skip
    if network is None:
        source, network = chosen(operator, source, n, which, solver, seed, precision)
    last = fit(
        operator, source, n, which=which, network=network, solver=solver, steps=steps, tolerance=tolerance, batch=batch,
        seed=seed, precision=precision, folder=folder, callbacks=callbacks, progress=progress, log_every=log_every,
    )  # fmt: skip
    return measure(
        last.state.solver.network,
        operator,
        source,
        n=n,
        which=which,
        finish=finish,
        samples=samples or FRESH,
        seed=seed,
        steps=last.step,
        stopped=last.stopped,
        precision=precision,
        progress=progress,
    )


def _by_rounds(
    operator: Operator,
    source: Source,
    n: int,
    *,
    which: Which,
    network: Any,
    solver: Galerkin,
    steps: int | None,
    tolerance: float | None,
    seed: int,
    samples: int | None,
    folder: str | PathLike[str] | None,
    callbacks: Sequence[Callback],
    progress: bool,
) -> Modes:
    if network is not None or not (is_place(source) and operator.local):
        raise ValueError(
            "Galerkin makes its own functions, for local operators on a Box, Mixture or Surface and for GraphLaplacian "
            "on nodes that are rows of numbers; give another solver, such as NaturalGradient(), to train a network or "
            "for other operators and sources"
        )
    steps = whole("steps", 3 if steps is None else steps)
    problem = Problem(operator, source, n, which, seed, samples, solver)
    settings = {"n": n, "seed": seed, "steps": steps, "which": which, "tolerance": tolerance, "samples": samples}
    fresh = start_rounds(problem)
    with (
        counting_in("float64"),
        _going_on(folder, fresh, lambda: settings | {"problem": _probe(operator, source, _moments_of_place)}) as going,
        progress_bar("rounds", show=progress) as update,
    ):
        return run_rounds(
            problem,
            going.resumed.state,
            steps=steps,
            tolerance=tolerance,
            seconds=going.resumed.seconds,
            callbacks=(*going.callbacks, *callbacks, update),
        )


def _on_graph(
    operator: Operator,
    source: Any,
    n: int,
    *,
    which: Which,
    solver: Galerkin,
    steps: int | None,
    tolerance: float | None,
    seed: int,
    folder: str | PathLike[str] | None,
    callbacks: Sequence[Callback],
    progress: bool,
) -> Modes:
    settings = {"n": n, "seed": seed, "which": which, "tolerance": tolerance, "steps": steps, **vars(solver)}
    with (
        _going_on(
            folder,
            start_on_graph(n, seed),
            lambda: settings | {"problem": _probe(operator, source, _moments_of_place)},
        ) as going,
        progress_bar("rounds", show=progress) as update,
    ):
        return graph_modes(
            source,
            n,
            which=which,
            scale=2 * (operator.differences or 0.0),  # that of the Laplacian itself is one half
            seed=seed,
            solver=solver,
            steps=steps if steps is None else whole("steps", steps),
            tolerance=tolerance,
            state=going.resumed.state,
            seconds=going.resumed.seconds,
            callbacks=(*going.callbacks, *callbacks, update),
            progress=progress,
        )


def fit(
    operator: Operator,
    source: Source,
    n: int,
    *,
    network: Any,
    which: Which = "smallest",
    solver: Solver | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    batch: int = 256,
    seed: int = 0,
    precision: Precision = "float32",
    folder: str | PathLike[str] | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    log_every: int | None = None,
    label: str = "training",
) -> Moment:
    """The training half of `solve`, for those who `measure` otherwise; the network is in `state.solver.network`."""
    steps = whole("steps", 20_000 if steps is None else steps)
    log_every = whole("log_every", log_every or max(1, min(500, steps // 100)))
    domain = plain(source)
    with counting_in(precision, at_least=True):
        network = in_precision(network)
        check_network(network, domain, n)
        check_edge(operator, domain, network)
        if solver is None:
            check_batch(source, n, batch)
            solver = default_solver(steps)
        counts = {"n": n, "seed": seed, "steps": steps, "batch": batch, "tolerance": tolerance, "which": which}
        fresh, sign = start(solver, network, n, seed), 1.0 if which == "smallest" else -1.0
        with (
            _going_on(folder, fresh, lambda: counts | {"problem": _probe(operator, source, network)}) as going,
            progress_bar(label, show=progress) as update,
        ):
            return train(
                solver,
                sign * operator,
                source,
                going.resumed.state,
                steps=steps,
                tolerance=tolerance,
                batch=batch,
                log_every=log_every,
                sign=sign,
                seconds=going.resumed.seconds,
                compile_seconds=going.resumed.compile_seconds,
                callbacks=(*going.callbacks, *callbacks, update),
            )


def chosen(
    operator: Operator,
    source: Source,
    n: int,
    which: Which = "smallest",
    solver: Solver | None = None,
    seed: int = 0,
    precision: Precision = "float32",
) -> tuple[Source, Any]:
    """Where to draw points, and a network to train on them, for those who give none: walkers tell where states are."""
    separate, key = solver is not None and solver.wants_separate, network_key(seed)
    domain = plain(source)
    box = box_of(domain)
    with counting_in(precision, at_least=True):
        if box is None or not operator.wants_boundary:
            return source, default_network(operator, domain, n, which, key, separate)
        cloud, singularities = first_cloud(operator, box, which, seed), operator.singularities()
        network = network_around(cloud, box, singularities, n, key, separate)
        return source_around(cloud, source, singularities), network


class _Going(NamedTuple):
    resumed: Resumed
    callbacks: tuple[Callback, ...]


@contextlib.contextmanager
def _going_on(
    folder: str | PathLike[str] | None, fresh: RunState, settings: Callable[[], dict[str, Any]]
) -> Iterator[_Going]:
    """Where a run begins or goes on, and what saves it: without a folder at the fresh state, and nothing."""
    if folder is None:
        yield _Going(Resumed(fresh), ())
        return
    session = Session(Path(folder), settings())
    with session.going_on(fresh) as resumed:
        yield _Going(resumed, (session,))


def _is_differential(operator: Any) -> bool:
    """Whether an operator is local and without bound on one side, as derivatives are; others are looked at
    elsewhere."""
    return isinstance(operator, Operator) and operator.local and operator.unbounded != 0


def _moments_of_place(x: Array) -> Array:
    """Functions of any point, to tell one problem from another by."""
    return jnp.stack([jnp.sin(jnp.sum(x)), jnp.cos(jnp.sum(x * jnp.arange(1, x.size + 1)))])


def _probe(operator: Operator, source: Source, network: Any) -> list[float]:
    """A few numbers that another operator, source or network would change: ⟨u, K u⟩ of the untrained network.

    Not the mean of K u, which is nothing but rounding where K has constants as eigenfunctions.
    """

    @eqx.filter_jit
    def numbers(operator: Operator, source: Source, network: Any) -> Array:
        batch = source.sample(jax.random.key(0), 8)
        u = jax.vmap(network)(batch.x)
        return batch.weights @ (u * operator.apply(network, batch, u))

    with full_precision():
        return np.asarray(numbers(operator, source, network), float).tolist()


def network_key(seed: int) -> jax.Array:
    """The key that a seed's network is made with."""
    return jax.random.fold_in(jax.random.key(seed), 0)


def default_solver(steps: int) -> SpIN:
    """Moments averaged ever more as an Adam learning rate falls by a factor of 1000."""
    learning_rate = optax.exponential_decay(3e-3, steps, 1e-3)
    return SpIN(optax.adam(learning_rate), rate=following(learning_rate))

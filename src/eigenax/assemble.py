"""Puts the parts together: operator, source, network and solver in, modes out."""

import contextlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import jax
import numpy as np
import optax

from eigenax.checks import (
    as_seed,
    check_batch,
    check_choice,
    check_edge,
    check_network,
    check_parts,
    check_problem,
    whole,
)
from eigenax.core.precision import full_precision
from eigenax.core.ritz import Finish
from eigenax.measurement import measure
from eigenax.modes import Modes, Which
from eigenax.networks.default import default_network
from eigenax.operators.base import Operator
from eigenax.solvers.base import Solver
from eigenax.solvers.schedules import following
from eigenax.solvers.spin import SpIN
from eigenax.sources.base import Source
from eigenax.training.loop import Callback, Moment, start, train
from eigenax.training.progress import progress_bar
from eigenax.training.session import Resumed, Session


def solve(
    operator: Operator,
    source: Source,
    n: int,
    *,
    which: Which = "smallest",
    network: Any = None,
    solver: Solver | None = None,
    steps: int = 20_000,
    batch: int = 256,
    seed: int = 0,
    finish: Finish = "rotate",
    samples: int = 2**17,
    folder: str | PathLike[str] | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    log_every: int | None = None,
) -> Modes:
    """The first n eigenfunctions of an operator, learned from the points a source draws.

    Network and solver are chosen for the problem unless given. Eigenvalues, standard errors and residuals come
    from `samples` fresh points. With a `folder`, metrics and checkpoints are written there, and the same call
    goes on from them after a crash or Ctrl-C, to the same bits. Callbacks see every log point, `log_every` steps.

    >>> import eigenax as ex
    >>> well = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
    >>> modes = ex.solve(well, ex.Box(-6, 6, dims=1), n=3, steps=200, progress=False)
    >>> modes(jnp.zeros((5, 1))).shape
    (5, 3)
    """
    check_choice("finish", finish, get_args(Finish))
    whole("samples", samples)
    last = fit(
        operator,
        source,
        n,
        which=which,
        network=network,
        solver=solver,
        steps=steps,
        batch=batch,
        seed=seed,
        folder=folder,
        callbacks=callbacks,
        progress=progress,
        log_every=log_every,
    )
    trained = last.state.solver.network
    return measure(
        trained,
        operator,
        source,
        which=which,
        finish=finish,
        samples=samples,
        seed=seed,
        steps=last.steps,
        progress=progress,
    )


def fit(
    operator: Operator,
    source: Source,
    n: int,
    *,
    which: Which = "smallest",
    network: Any = None,
    solver: Solver | None = None,
    steps: int = 20_000,
    batch: int = 256,
    seed: int = 0,
    folder: str | PathLike[str] | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    log_every: int | None = None,
    label: str = "training",
) -> Moment:
    """The training half of `solve`, for those who `measure` otherwise; the network is in `state.solver.network`."""
    check_parts(operator, source, solver, callbacks)
    n, steps, batch, seed = whole("n", n), whole("steps", steps), whole("batch", batch), as_seed(seed)
    log_every = whole("log_every", log_every or max(1, min(500, steps // 100)))
    check_problem(operator, source, n, which)
    if network is None:
        network = default_network(operator, source, n, which, network_key(seed))
    check_network(network, source, n)
    check_edge(operator, source, network)
    if solver is None:
        check_batch(source, n, batch)
        solver = default_solver(steps)
    fresh, session = start(solver, network, n, seed), None
    if folder is not None:
        counts = {"n": n, "seed": seed, "steps": steps, "batch": batch}
        session = Session(Path(folder), counts | {"which": which, "problem": _probe(operator, source, network)})
        callbacks = (session, *callbacks)
    sign = 1.0 if which == "smallest" else -1.0
    with (
        session.going_on(fresh) if session else contextlib.nullcontext(Resumed(fresh)) as resumed,
        progress_bar(label, show=progress) as update,
    ):
        return train(
            solver,
            sign * operator,
            source,
            resumed.state,
            steps=steps,
            batch=batch,
            log_every=log_every,
            sign=sign,
            seconds=resumed.seconds,
            compile_seconds=resumed.compile_seconds,
            callbacks=(*callbacks, update),
        )


def _probe(operator: Operator, source: Source, network: Any) -> list[float]:
    """A few numbers that another operator, source or network would change: K u of the untrained network."""
    batch = source.sample(jax.random.key(0), 8)
    with full_precision():
        u = jax.vmap(network)(batch.x)
        ku = operator.apply(network, batch, u)
    return np.asarray(batch.weights @ ku, float).tolist()


def network_key(seed: int) -> jax.Array:
    """The key that a seed's network is made with."""
    return jax.random.fold_in(jax.random.key(seed), 0)


def default_solver(steps: int) -> SpIN:
    """Moments averaged ever more as an Adam learning rate falls by a factor of 1000."""
    learning_rate = optax.exponential_decay(3e-3, steps, 1e-3)
    return SpIN(optax.adam(learning_rate), rate=following(learning_rate))

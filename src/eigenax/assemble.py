"""Puts the parts together: operator, source, network and solver in, modes out."""

import numbers
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from eigenax.core.precision import full_precision
from eigenax.core.ritz import Finish
from eigenax.errors import StoppedError
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
    check_count("samples", samples)
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
        steps=steps,
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
    _check_parts(operator, source)
    for name, count in {"n": n, "steps": steps, "batch": batch, "log_every": log_every or 1}.items():
        check_count(name, count)
    check_choice("which", which, get_args(Which))
    if not isinstance(seed, numbers.Integral) or not 0 <= seed < 2**32:
        raise ValueError(f"seed must be a whole number of at least 0 and below 2**32; got {seed!r}")
    if not isinstance(solver, Solver | None):
        raise TypeError(f"solver must be an eigenax solver such as SpIN(optax.adam(1e-3)); got {solver!r}")
    operator.check(source.sample(jax.random.key(seed), 256))
    if network is None:
        network = default_network(operator, source, n, which, network_key(seed))
    _check_outputs(network, source, n)
    solver = solver or default_solver(steps)
    session, resumed = None, Resumed(start(solver, network, n, seed))
    if folder is not None:
        counts = {"n": n, "seed": seed, "steps": steps, "batch": batch}
        session = Session(Path(folder), counts | {"which": which, "problem": _probe(operator, source, network)})
        resumed = session.resume(resumed.state)
        callbacks = (session, *callbacks)
    sign = 1.0 if which == "smallest" else -1.0
    try:
        with progress_bar(label, show=progress) as update:
            return train(
                solver,
                sign * operator,
                source,
                resumed.state,
                steps=steps,
                batch=batch,
                log_every=log_every or max(1, min(500, steps // 100)),
                sign=sign,
                seconds=resumed.seconds,
                compile_seconds=resumed.compile_seconds,
                callbacks=(*callbacks, update),
            )
    except StoppedError as stop:
        if session is not None and stop.moment.step > 0:
            session.save(stop.moment)
            stop.add_note(f"saved in {folder}: the same call goes on from step {stop.moment.step}")
        raise


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


def check_count(name: str, value: Any) -> None:
    """Refuse what is not a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of the words allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be {' or '.join(repr(a) for a in allowed)}; got {value!r}")


def _check_parts(operator: Any, source: Any) -> None:
    if not isinstance(operator, Operator):
        raise TypeError(
            f"operator must be an eigenax operator such as -Laplacian() + Potential(V); got {type(operator).__name__}"
        )
    if not isinstance(source, Source):
        raise TypeError(f"source must be an eigenax source such as Box(-5, 5, dims=2); got {type(source).__name__}")
    if operator.acts_on is not source.draws:
        raise TypeError(
            f"the operator acts on {operator.acts_on.__name__}, but {type(source).__name__} draws "
            f"{source.draws.__name__}: Slowness needs a source of successive points (Clips), the others single points"
        )


def _check_outputs(network: Any, source: Source, n: int) -> None:
    try:
        shape = jax.eval_shape(network, jax.ShapeDtypeStruct(source.shape, jnp.zeros(()).dtype)).shape
    except TypeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"network must take one point of shape {source.shape}; it does not: {reason}") from error
    if not jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)):
        raise ValueError("network must be an equinox module with arrays to train; this one has none")
    if shape != (n,):
        raise ValueError(f"network must return n = {n} values for a point of shape {source.shape}; it returns {shape}")

"""The settings of a run as plain data, detailed enough to tell two different runs apart."""

import dataclasses
import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

SCHEDULE_STEPS = (0, 10, 1000, 100_000)
"""Steps at which the values of a schedule describe it."""
OPTIMIZER_STEPS = (0, 1, 15, 63)
"""Steps whose updates describe an optimiser."""


def described(value: Any) -> Any:
    """Describe a value as plain data.

    Numbers and strings stay as they are. Objects are described by their fields, arrays by a checksum, optimisers and
    schedules by their values at a few steps, other functions by their names.

    >>> described(optax.sgd(0.5))
    ['optimiser', -0.5, -0.25, -0.03125, -0.0078125]
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "checksum"):
        return value.checksum()
    if isinstance(value, jax.Array | np.ndarray):
        array = np.asarray(value)
        return [str(array.dtype), *array.shape, zlib.crc32(array.tobytes())]
    if isinstance(value, optax.GradientTransformation):
        return ["optimiser", *_updates_of(value)]
    if dataclasses.is_dataclass(value):
        fields = {field.name: described(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"is": type(value).__name__} | fields
    if isinstance(value, tuple | list):
        return [described(item) for item in value]
    return _at_steps(value) if callable(value) else type(value).__name__


def _updates_of(optimizer: optax.GradientTransformation) -> list[Any]:
    """Updates of a single parameter, for gradients 1, 1/2, 1/3, …"""

    def update(carry: Any, gradient: jax.Array) -> tuple[Any, Any]:
        parameter, state = carry
        change, state = optimizer.update(gradient, state, parameter)
        return (parameter + change, state), change

    one = jnp.ones(())
    try:
        _, changes = jax.lax.scan(update, (one, optimizer.init(one)), 1 / jnp.arange(1.0, OPTIMIZER_STEPS[-1] + 2))
        return [float(changes[step]) for step in OPTIMIZER_STEPS]
    except Exception:  # it works on the parameters of one network only, or needs more than a gradient
        return []


def _at_steps(schedule: Any) -> Any:
    """The values of a schedule at a few steps; for another function, its name."""
    try:
        return [float(schedule(jnp.asarray(step))) for step in SCHEDULE_STEPS]
    except Exception:  # not a function of the step
        return getattr(schedule, "__qualname__", type(schedule).__name__)

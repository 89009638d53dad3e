"""What a run was set to, as plain data: enough to tell another run from this one."""

import dataclasses
import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS, LOOKED_AT = (0, 10, 1000, 100_000), (0, 1, 15, 63)
"""Steps at which a schedule, and updates in which an optimiser, is looked at."""


def described(value: Any) -> Any:
    """Numbers and words as they are, objects by their fields, arrays by a checksum, functions by what they do.

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
    """Of a single parameter, for gradients that fall."""

    def update(carry: Any, gradient: jax.Array) -> tuple[Any, Any]:
        parameter, state = carry
        change, state = optimizer.update(gradient, state, parameter)
        return (parameter + change, state), change

    one = jnp.ones(())
    try:
        _, changes = jax.lax.scan(update, (one, optimizer.init(one)), 1 / jnp.arange(1.0, LOOKED_AT[-1] + 2))
        return [float(changes[step]) for step in LOOKED_AT]
    except Exception:  # made for one network's parameters, or wants more than a gradient: it cannot be tried so
        return []


def _at_steps(schedule: Any) -> Any:
    """The values of a function of the step; of another function, its name."""
    try:
        return [float(schedule(jnp.asarray(step))) for step in STEPS]
    except Exception:  # a function of something else
        return getattr(schedule, "__qualname__", type(schedule).__name__)

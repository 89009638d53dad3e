"""Convert modules to arrays and plain data and back, without pickle; only classes of the registry are ever built."""

import dataclasses
import enum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from eigenax.io.registry import find_class, name_of


def encode(value: Any, arrays: dict[str, np.ndarray], name: str = "") -> Any:
    """Describe a module as plain data, and put its arrays into `arrays` under the names of their fields."""
    if isinstance(value, jax.Array | np.ndarray):
        arrays[name] = np.asarray(value)
        return {"array": name, "device": isinstance(value, jax.Array)}
    if isinstance(value, eqx.Module):
        known_as = name_of(type(value))
        fields = {
            field.name: encode(getattr(value, field.name), arrays, f"{name}.{field.name}".lstrip("."))
            for field in dataclasses.fields(value)
        }
        return {"class": known_as, "fields": fields}
    if isinstance(value, tuple | list):
        return {"tuple": [encode(item, arrays, f"{name}.{i}") for i, item in enumerate(value)]}
    if isinstance(value, enum.Enum):
        return {"enum": name_of(type(value)), "member": value.name}
    if value is None or isinstance(value, str | int | float | bool):
        return {"value": value}
    raise TypeError(f"{name} holds {type(value).__name__}, which cannot be saved")


def decode(data: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The module that `encode` described."""
    if "array" in data:
        return jnp.asarray(arrays[data["array"]]) if data["device"] else arrays[data["array"]]
    if "tuple" in data:
        return tuple(decode(item, arrays) for item in data["tuple"])
    if "value" in data:
        return data["value"]
    if "enum" in data:
        return find_class(data["enum"])[data["member"]]
    module = object.__new__(find_class(data["class"]))
    for field, value in data["fields"].items():
        object.__setattr__(module, field, decode(value, arrays))
    return module

"""Copies of a user's function for float64, so that no NumPy array it refers to serves programs of two precisions."""

import builtins
import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

LIBRARIES = ("jax.", "numpy.", "equinox.")
"""Functions of these packages are not copied."""
_COPIES: weakref.WeakKeyDictionary[Any, tuple[list[int], Callable | None]] = weakref.WeakKeyDictionary()
"""For each function, the ids of what it referred to when it was copied, and the copy: None if it held no arrays."""


def in_this_precision(function: Callable) -> Callable:
    """The function itself in float32; in float64, a copy of it that refers to copies of its NumPy arrays.

    JAX converts a NumPy array once and remembers the result. An array that a float32 program has used stays float32 in
    float64 programs, which then cannot be compiled. All programs in float64 share one copy of a function.

    >>> import jax
    >>> centre = np.array([0.5])
    >>> away = lambda x: x - centre
    >>> in_this_precision(away) is away
    True
    >>> with jax.enable_x64(True):
    ...     other = in_this_precision(away)
    >>> other is away, other(1.0)
    (False, array([0.5]))
    """
    if jnp.zeros(()).dtype != np.float64 or not isinstance(function, types.FunctionType | functools.partial):
        return function
    refers_to = [id(value) for value in _references(function)]
    if function not in _COPIES or _COPIES[function][0] != refers_to:
        known: dict[int, Any] = {}
        copy = _copied(function, known)
        has_arrays = any(type(value) is np.ndarray for value in known.values())
        _COPIES[function] = refers_to, copy if has_arrays else None
    return _COPIES[function][1] or function


def _references(function: Callable) -> list[Any]:
    """What a function refers to: the globals and closure values it looks up, or the parts of a `functools.partial`."""
    if isinstance(function, functools.partial):
        return [function.func, *function.args, *function.keywords.values()]
    assert isinstance(function, types.FunctionType), "in_this_precision lets no other kind through"
    return [*_globals_of(function).values(), *_cells_of(function)]


def _globals_of(function: types.FunctionType) -> dict[str, Any]:
    return {
        name: function.__globals__[name] for name in sorted(_names(function.__code__) & function.__globals__.keys())
    }


def _cells_of(function: types.FunctionType) -> list[Any]:
    """The contents of the cells of a closure; of a cell that is still empty, the cell itself."""
    contents = []
    for cell in function.__closure__ or ():
        try:
            contents.append(cell.cell_contents)
        except ValueError:
            contents.append(cell)
    return contents


def _copied(value: Any, known: dict[int, Any]) -> Any:
    """A copy of an array, and of a container or function that may hold arrays; anything else as it is.

    `known` maps the id of each object copied so far to its copy.
    """
    if id(value) in known:
        return known[id(value)]
    if type(value) is np.ndarray:
        known[id(value)] = value.copy()
    elif type(value) in (list, dict):
        known[id(value)] = copy = type(value)()  # recorded before its items, which may refer back to it
        if isinstance(copy, list):
            copy.extend(_copied(item, known) for item in value)
        else:
            copy.update({name: _copied(item, known) for name, item in value.items()})
    elif type(value) is tuple:
        known[id(value)] = tuple(_copied(item, known) for item in value)
    elif isinstance(value, functools.partial):
        func, args, keywords = (_copied(part, known) for part in (value.func, value.args, value.keywords))
        known[id(value)] = functools.partial(func, *args, **keywords)
    elif isinstance(value, types.FunctionType) and not (value.__module__ or "").startswith(LIBRARIES):
        _copy_function(value, known)
    else:
        return value
    return known[id(value)]


def _copy_function(function: types.FunctionType, known: dict[int, Any]) -> None:
    """Record in `known` a copy of the function whose globals and closure hold copies."""
    module = {"__builtins__": function.__globals__.get("__builtins__", builtins)}
    closure = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, module, function.__name__, None, closure)
    known[id(function)] = copy  # recorded before what it refers to, which may refer back to it
    copy.__defaults__ = _copied(function.__defaults__, known)
    copy.__kwdefaults__ = _copied(function.__kwdefaults__, known)
    copy.__dict__.update(_copied(dict(function.__dict__), known))
    module |= {name: _copied(value, known) for name, value in _globals_of(function).items()}
    for cell, original, content in zip(closure, function.__closure__ or (), _cells_of(function), strict=True):
        if content is not original:
            cell.cell_contents = _copied(content, known)


def _names(code: types.CodeType) -> set[str]:
    """The names that the code, and functions defined inside it, may look up among globals."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)

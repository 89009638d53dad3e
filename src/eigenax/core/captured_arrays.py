"""NumPy arrays that a user's function refers to, each of them for one precision alone."""

import builtins
import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

LIBRARIES = ("jax.", "numpy.", "equinox.")
_COPIES: weakref.WeakKeyDictionary[Any, tuple[list[int], Callable | None]] = weakref.WeakKeyDictionary()
"""What each function referred to when it was copied, and the copy, if it referred to an array."""


def in_this_precision(function: Callable) -> Callable:
    """The function; in float64, one with arrays of its own.

    JAX remembers what a NumPy array became in the precision in which a program first took it, float32, and gives the
    same to programs in float64, which then cannot be compiled. Programs of one precision share one copy.

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
    refers_to = [id(value) for value in _referred(function)]
    if function not in _COPIES or _COPIES[function][0] != refers_to:
        known: dict[int, Any] = {}
        copy = _copied(function, known)
        has_arrays = any(type(value) is np.ndarray for value in known.values())
        _COPIES[function] = refers_to, copy if has_arrays else None
    return _COPIES[function][1] or function


def _referred(function: Callable) -> list[Any]:
    """The globals and the values of a closure that a function looks up, or the parts of a partial one."""
    if isinstance(function, functools.partial):
        return [function.func, *function.args, *function.keywords.values()]
    assert isinstance(function, types.FunctionType), "asked for before"
    return [*_globals_of(function).values(), *_cells_of(function)]


def _globals_of(function: types.FunctionType) -> dict[str, Any]:
    return {
        name: function.__globals__[name] for name in sorted(_names(function.__code__) & function.__globals__.keys())
    }


def _cells_of(function: types.FunctionType) -> list[Any]:
    """What is in the cells of a closure, the cell itself where nothing is yet."""
    contents = []
    for cell in function.__closure__ or ():
        try:
            contents.append(cell.cell_contents)
        except ValueError:
            contents.append(cell)
    return contents


def _copied(value: Any, known: dict[int, Any]) -> Any:
    """Arrays anew, and whatever holds some: containers, and functions by what they refer to. The rest as it is."""
    if id(value) in known:
        return known[id(value)]
    if type(value) is np.ndarray:
        known[id(value)] = value.copy()
    elif type(value) in (list, dict):
        known[id(value)] = copy = type(value)()  # before what it holds, which may hold it
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
    """Put a copy among what is known, whose globals and closure hold copies."""
    module = {"__builtins__": function.__globals__.get("__builtins__", builtins)}
    closure = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, module, function.__name__, None, closure)
    known[id(function)] = copy  # before what it refers to, which may refer to it
    copy.__defaults__ = _copied(function.__defaults__, known)
    copy.__kwdefaults__ = _copied(function.__kwdefaults__, known)
    copy.__dict__.update(_copied(dict(function.__dict__), known))
    module |= {name: _copied(value, known) for name, value in _globals_of(function).items()}
    for cell, original, content in zip(closure, function.__closure__ or (), _cells_of(function), strict=True):
        if content is not original:
            cell.cell_contents = _copied(content, known)


def _names(code: types.CodeType) -> set[str]:
    """What the code, and functions made inside it, may look up among globals."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)

"""NumPy arrays that a user's function refers to, each of them for one precision alone."""

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

_COPIES: weakref.WeakKeyDictionary[Any, Callable] = weakref.WeakKeyDictionary()


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
    if function not in _COPIES:
        _COPIES[function] = _copied(function, {})
    return _COPIES[function]


def _copied(value: Any, known: dict[int, Any]) -> Any:
    """Arrays anew, and whatever holds some: containers, and functions by what they refer to. The rest as it is."""
    if id(value) in known:
        return known[id(value)]
    if type(value) is np.ndarray:
        known[id(value)] = value.copy()
    elif type(value) in (list, tuple):
        known[id(value)] = type(value)(_copied(item, known) for item in value)
    elif type(value) is dict:
        known[id(value)] = {name: _copied(item, known) for name, item in value.items()}
    elif isinstance(value, functools.partial):
        parts = (_copied(part, known) for part in (value.func, value.args, value.keywords))
        func, args, keywords = parts
        known[id(value)] = functools.partial(func, *args, **keywords)
    elif isinstance(value, types.FunctionType) and not value.__module__.startswith(("jax.", "numpy.", "equinox.")):
        _copy_function(value, known)
    else:
        return value
    return known[id(value)]


def _copy_function(function: types.FunctionType, known: dict[int, Any]) -> None:
    """Put a copy among what is known, whose globals and closure hold copies."""
    module = dict(function.__globals__)
    closure = tuple(types.CellType() for _ in function.__closure__ or ())
    copy = types.FunctionType(
        function.__code__, module, function.__name__, _copied(function.__defaults__, known), closure
    )
    known[id(function)] = copy  # before what it refers to, which may refer to it
    copy.__kwdefaults__ = _copied(function.__kwdefaults__, known)
    for name in _names(function.__code__) & module.keys():
        module[name] = _copied(module[name], known)
    for cell, original in zip(closure, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = _copied(original.cell_contents, known)
        except ValueError:  # not yet filled
            continue


def _names(code: types.CodeType) -> set[str]:
    """What the code, and functions made inside it, may look up among globals."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*inner)

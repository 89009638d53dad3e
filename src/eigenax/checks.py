"""What a user hands over, looked at before anything is done with it: one sentence for whatever is wrong."""

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least one, or an error."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def whole_or_none(name: str, value: Any, least: int = 1) -> int | None:
    """The same, or nothing where nothing was asked for."""
    return None if value is None else whole(name, value, least)


def check_not_constant_alone(n: int) -> None:
    """Refuse to look for nothing but the constant, where an operator has it as its first function."""
    if n == 1:
        raise ValueError("n = 1 asks for the constant function alone, which this operator always has; ask for more")


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse what is not one of the words allowed."""
    if value not in allowed:
        raise ValueError(f"{name} must be {' or '.join(repr(a) for a in allowed)}; got {value!r}")


def as_seed(seed: Any) -> int:
    """A seed, or an error."""
    if not isinstance(seed, numbers.Integral) or not 0 <= int(seed) < 2**32:
        raise ValueError(f"seed must be a whole number of at least 0 and below 2**32; got {seed!r}")
    return int(seed)


def as_array(name: str, value: Any) -> np.ndarray:
    """A user's data as an array, of whatever they are."""
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array, all rows of one length; got rows that differ") from error


def as_real(name: str, value: ArrayLike) -> Float[Array, "..."]:
    """A user's data as an array of finite real numbers."""
    value = value if hasattr(value, "dtype") else as_array(name, value)
    if np.iscomplexobj(value):
        raise ValueError(f"{name} must be real; got complex numbers: give their two parts as separate features")
    try:
        with np.errstate(over="ignore"):  # infinity is refused below
            data = jnp.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers; got {np.asarray(value).dtype}") from error
    if not bool(jnp.isfinite(data).all()):
        raise ValueError(f"{name} contains NaN or infinity (also of what float32 can hold); drop or fill those rows")
    return data


def as_vector(value: float | Sequence[float], dims: int | None, name: str) -> tuple[float, ...]:
    """One number per axis, from a number and `dims` or from a sequence."""
    vector = np.asarray(value, float)
    if vector.ndim > 1:
        raise ValueError(f"{name} must be a number or one number per axis; got shape {vector.shape}")
    if vector.ndim == 0:
        vector = np.full(1 if dims is None else dims, float(vector))
    if dims is not None and len(vector) != dims:
        raise ValueError(f"{name} has {len(vector)} values, but dims is {dims}")
    return tuple(vector.tolist())


def traced(subject: str, how: str, function: Callable, *arguments: Float[Array, "..."]) -> Any:
    """Shape and dtype of what a user's function returns, or one sentence where it does not work with JAX."""
    try:
        return jax.eval_shape(function, *arguments)
    except TypeError as error:
        raise ValueError(
            f"{subject} cannot be called {how}; use jax.numpy instead of numpy or math, and jnp.where instead of if "
            f"({str(error).splitlines()[0]})"
        ) from error


def check_reads(subject: str, what_is_there: str, function: Callable, *arguments: Float[Array, "..."]) -> None:
    """Refuse a user's function that reads beyond its arguments; JAX itself would quietly take the last entry."""
    try:
        function(*(np.asarray(argument) for argument in arguments))
    except IndexError as error:
        raise ValueError(f"{subject} reads what {what_is_there} not: {error}") from error
    except Exception:  # written for JAX arrays alone, which is fine
        return


def check_returns_number(name: str, function: Callable, *points: Float[Array, "..."]) -> None:
    """Refuse a user's function of points that returns anything but one number."""
    returned = traced(f"{name}: the function", f"with {len(points)} point(s) as JAX calls it", function, *points)
    shape = getattr(returned, "shape", None)
    if shape != () or jnp.issubdtype(returned.dtype, jnp.complexfloating):
        came = type(returned).__name__ if shape is None else f"shape {shape} of {returned.dtype}"
        raise ValueError(
            f"{name}: the function must return one real number, shape (), for a point of shape {points[0].shape}; "
            f"it returned {came}. Sum or index its result"
        )
    check_reads(f"{name}: the function", f"a point of shape {points[0].shape} has", function, *points)

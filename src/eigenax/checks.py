"""Checks of what a user hands over, before anything is done with it: one sentence for each thing that is wrong."""

import contextlib
import numbers
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jaxtyping import Array, ArrayLike, Float

LEVELS = 1000
"""A warning is given if float32 resolves less than this fraction, 1 / LEVELS, of the range of a column."""
PIECE = 2**22
"""Numbers that are compared at once with their rounded values."""


def positive_int(name: str, value: Any, least: int = 1) -> int:
    """The value as an int, refused unless it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")
    return int(value)


def positive_int_or_none(name: str, value: Any, least: int = 1) -> int | None:
    """The same, but None stays None."""
    return None if value is None else positive_int(name, value, least)


def check_not_constant_alone(n: int) -> None:
    """Refuse n = 1 for an operator whose first eigenfunction is known to be the constant."""
    if n == 1:
        raise ValueError("n = 1 asks for the constant function alone, which this operator always has; ask for more")


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the allowed words."""
    if value not in allowed:
        raise ValueError(f"{name} must be {' or '.join(repr(a) for a in allowed)}; got {value!r}")


def as_seed(seed: Any) -> int:
    """The seed as an int, refused unless it is a whole number from 0 to 2³² − 1."""
    if not isinstance(seed, numbers.Integral) or not 0 <= int(seed) < 2**32:
        raise ValueError(f"seed must be a whole number of at least 0 and below 2**32; got {seed!r}")
    return int(seed)


def check_dense(name: str, value: Any) -> None:
    """Refuse a sparse matrix."""
    if scipy.sparse.issparse(value):
        raise ValueError(
            f"{name} must be dense; got a sparse matrix of shape {value.shape}: give .toarray(), or, if that is too "
            "large, sklearn.decomposition.TruncatedSVD(50).fit_transform of it"
        )


def as_array(name: str, value: Any) -> np.ndarray:
    """A user's data as a NumPy array of whatever type they have."""
    check_dense(name, value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be an array, all rows of one length; got rows that differ") from error


def as_real(name: str, value: ArrayLike) -> Float[Array, "..."]:
    """A user's data as a JAX array of finite real numbers, in float32 unless JAX is set to float64."""
    check_dense(name, value)
    value = value if hasattr(value, "dtype") else as_array(name, value)
    if np.iscomplexobj(value):
        raise ValueError(f"{name} must be real; got complex numbers: give their two parts as separate features")
    try:
        with np.errstate(over="ignore"):  # infinity is refused below
            data = jnp.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers; got {np.asarray(value).dtype}") from error
    if not bool(jnp.isfinite(data).all()):
        raise ValueError(
            f"{name} contains NaN or infinity, or numbers beyond what float32 can hold; drop or fill those rows"
        )
    if data.dtype == jnp.float32:
        tell_of_rounding(name, np.asarray(value))
    return data


def tell_of_rounding(name: str, rows: np.ndarray) -> None:
    """Warn of a column whose range / `LEVELS` float32 does not resolve, such as of Unix times or of tiny numbers."""
    if rows.dtype.itemsize < 4 or rows.dtype == np.float32 or rows.ndim < 2 or not rows.size:
        return
    step = max(1, PIECE // rows[0].size) if rows[0].size else len(rows)
    pieces = (rows[start : start + step].reshape(-1, rows[0].size) for start in range(0, len(rows), step))
    found = [(piece.min(0), piece.max(0), _rounding_of(piece)) for piece in pieces]
    lowest, highest, rounding = (
        np.asarray(pick([each[part] for each in found], axis=0), np.float64)
        for part, pick in enumerate((np.min, np.max, np.max))
    )
    lost = (rounding > (highest - lowest) / LEVELS) & (highest > lowest)
    if lost.any():
        column = int(np.argmax(lost))
        warnings.warn(
            f"column {column} of {name} lies between {lowest[column]:.10g} and {highest[column]:.10g}; where a network "
            f"is trained on it, float32 rounds it by up to {rounding[column]:.2g}: subtract an offset, or rescale it",
            stacklevel=4,
        )


def _rounding_of(piece: np.ndarray) -> np.ndarray:
    """The largest rounding error of float32 in each column; devices flush numbers below its normal range to zero."""
    with np.errstate(over="ignore"):
        rounded = piece.astype(np.float32)
    rounded[np.abs(rounded) < np.finfo(np.float32).tiny] = 0
    return np.abs(piece - rounded.astype(np.float64)).max(0)


def as_vector(value: float | Sequence[float], dims: int | None, name: str) -> tuple[float, ...]:
    """One number for each axis, from one number for all of `dims` axes or from a sequence."""
    vector = np.asarray(value, float)
    if vector.ndim > 1:
        raise ValueError(f"{name} must be a number or one number per axis; got shape {vector.shape}")
    if vector.ndim == 0:
        vector = np.full(1 if dims is None else dims, float(vector))
    if dims is not None and len(vector) != dims:
        raise ValueError(f"{name} has {len(vector)} values, but dims is {dims}")
    return tuple(vector.tolist())


def traced(must: str, function: Callable, *arguments: Any) -> Any:
    """The shape and dtype of what a user's function returns; if it fails, an error says what it must do, and why."""
    try:
        return jax.eval_shape(function, *arguments)
    except Exception as error:
        said = " ".join(str(error).split("\n")[0].split()).rstrip(".")
        hint = _hint(function, error, *arguments)
        raise ValueError(f"{must}; as JAX calls it, it raised {type(error).__name__}: {said}. {hint}") from error


def _hint(function: Callable, error: Exception, *arguments: Any) -> str:
    """Advice on a function that JAX cannot trace."""
    if isinstance(error, jax.errors.JAXTypeError):
        return "Use jax.numpy instead of numpy or math, and jnp.where instead of if"
    size = 7 + max(map(jnp.size, arguments), default=0)  # a batch size that is not the number of coordinates
    with contextlib.suppress(Exception):
        if jax.eval_shape(function, *(jnp.stack([x] * size) for x in arguments)).shape[0] == size:
            return "It takes a batch of points: write it for one, with x[0] for x[:, 0], and sums without axis=1"
    return "Write it in jax.numpy"


def check_reads(subject: str, what_is_there: str, function: Callable, *arguments: Float[Array, "..."]) -> None:
    """Refuse a user's function that reads beyond the end of its arguments: JAX would silently take the last entry."""
    try:
        function(*(np.asarray(argument) for argument in arguments))
    except IndexError as error:
        raise ValueError(f"{subject} reads what {what_is_there} not: {error}") from error
    except Exception:  # it takes JAX arrays only, which is fine
        return


def check_returns_number(name: str, function: Callable, *points: Float[Array, "..."]) -> None:
    """Refuse a user's function of points that returns anything but one number."""
    shape = points[0].shape
    takes = f"one point x of shape {shape}" if len(points) == 1 else f"{len(points)} points of shape {shape}"
    must = f"{name}: the function must take {takes} to one real number, shape ()"
    came, instead = _not_a_number(traced(must, function, *points))
    if came:
        raise ValueError(f"{must}; it returned {came}. {instead}")
    check_reads(f"{name}: the function", f"a point of shape {shape} has", function, *points)


def _not_a_number(returned: Any) -> tuple[str, str]:
    """What was returned in place of one real number, and what to do about it; two empty strings if all is well."""
    shape = getattr(returned, "shape", None)
    if shape is None:
        return type(returned).__name__, "Return what it computes, as one number"
    if shape != ():
        return f"shape {shape} of {returned.dtype}", "Sum or index its result"
    if jnp.issubdtype(returned.dtype, jnp.complexfloating):
        return f"a complex number, {returned.dtype}", "Take .real of it, or the operator is not symmetric"
    return "", ""

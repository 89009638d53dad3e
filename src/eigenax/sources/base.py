"""The source: something that draws batches of points."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PRNGKeyArray

from eigenax.core.batch import Batch, Function, Pairs, Points


class Source(eqx.Module):
    """Draws batches of `Points` or `Pairs`, inside the compiled training loop, as a function of a key."""

    draws: ClassVar[type[Points] | type[Pairs]] = Points

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""

    @abstractmethod
    def sample(self, key: PRNGKeyArray, size: int) -> Batch:
        """A batch of `size` draws; the same key gives the same batch."""

    def spread(self, key: PRNGKeyArray, size: int, part: int | Int[Array, ""] = 0) -> Batch:
        """A batch whose points fill the domain evenly, for means over single points.

        The parts 0, 1, 2 … of one key fill it evenly together. Here they are independent draws, for want of better.
        """
        return self.sample(jax.random.fold_in(key, part), size)

    def sample_for(self, function: Function, key: PRNGKeyArray, size: int) -> Batch:
        """A batch for training these functions: a source may draw where they are. Here they do not matter."""
        return self.sample(key, size)


def is_rows(source: Source) -> bool:
    """Whether its points are rows of numbers, and not images."""
    return len(source.shape) == 1


def as_real(name: str, value: ArrayLike) -> Float[Array, "..."]:
    """A user's data as an array of finite real numbers."""
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

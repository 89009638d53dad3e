"""Short stretches of a time series, whose successive points form pairs."""

import numbers

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray, Real

from eigenax.core.batch import Pairs
from eigenax.sources.base import Source, as_real


class Clips(Source):
    """Clips of `length` successive points from one series (time, …), starting anywhere in it.

    A batch of `size` clips has size × (length − 1) pairs, and each point is evaluated once.

    >>> Clips(jnp.zeros((1000, 3)), length=10).shape
    (3,)
    """

    series: Float[Array, "time ..."]
    length: int = eqx.field(static=True)
    draws = Pairs

    def __init__(self, series: Real[ArrayLike, "time ..."], length: int = 10):
        if not isinstance(length, numbers.Integral) or length < 2:
            raise ValueError(f"length must be a whole number of at least 2, one pair of points; got {length}")
        self.series, self.length = as_real("series", series), int(length)
        if self.series.ndim < 2 or len(self.series) < length:
            raise ValueError(
                f"series must be an array (time, features…) of at least length = {length} points; got shape "
                f"{self.series.shape}. One number a time is series[:, None]"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one point."""
        return self.series.shape[1:]

    def sample(self, key: PRNGKeyArray, size: int) -> Pairs:
        """Pairs of successive points inside `size` clips, of weight one."""
        starts = jax.random.randint(key, (size, 1), 0, len(self.series) - self.length + 1)
        times = starts + jnp.arange(self.length)
        index = jnp.arange(size * self.length).reshape(size, self.length)
        pairs = size * (self.length - 1)
        return Pairs(
            self.series[times.ravel()],
            index[:, :-1].ravel(),
            index[:, 1:].ravel(),
            jnp.ones(pairs, self.series.dtype),
        )

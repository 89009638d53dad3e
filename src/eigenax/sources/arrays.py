"""Points from an array in memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray, Real

from eigenax.checks import as_real
from eigenax.core.batch import Points
from eigenax.sources.base import HostData, Source


class Arrays(Source):
    """The rows of an array, drawn uniformly with replacement.

    >>> Arrays(jnp.zeros((100, 3))).shape
    (3,)
    """

    data: Float[Array, "rows ..."]
    host: HostData[np.ndarray] = eqx.field(static=True)

    def __init__(self, data: Real[ArrayLike, "rows ..."]):
        self.data, self.host = as_real("data", data), HostData(lambda: np.asarray(data, np.float64))
        if self.data.ndim < 2 or len(self.data) == 0:
            raise ValueError(
                f"data must be an array of points (rows, features…); got shape {self.data.shape}. "
                "One number a row is data[:, None]"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row."""
        return self.data.shape[1:]

    @property
    def rows(self) -> Float[np.ndarray, "rows d"] | None:
        """All rows, in float64; None if they are images."""
        return self.host.data if self.data.ndim == 2 else None

    def sample(self, key: PRNGKeyArray, size: int) -> Points:
        """Random rows, all of weight one."""
        rows = jax.random.randint(key, (size,), 0, len(self.data))
        return Points(self.data[rows], jnp.ones(size, self.data.dtype))

"""The number of threads of linear algebra: one for small matrices, where several would mostly wait for each other."""

import contextlib
import functools
from collections.abc import Iterator

from threadpoolctl import ThreadpoolController

SMALL = 2048
"""Up to this size of a matrix, several threads lose more time than they gain where other programs use the cores."""


@functools.cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries loaded by the first call, remembered since the search takes longer than a small problem."""
    return ThreadpoolController()


@contextlib.contextmanager
def few_threads(size: int) -> Iterator[None]:
    """A context for linear algebra with matrices of this size: it uses one thread if they are small.

    >>> import numpy as np
    >>> with few_threads(100):
    ...     np.linalg.eigvalsh(np.eye(2))
    array([1., 1.])
    """
    with _libraries().limit(limits=1, user_api="blas") if size <= SMALL else contextlib.nullcontext():
        yield

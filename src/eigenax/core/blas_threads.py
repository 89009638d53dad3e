"""How many threads linear algebra takes: one where matrices are small, since several wait for each other."""

import contextlib
import functools
from collections.abc import Iterator

from threadpoolctl import ThreadpoolController

SMALL = 2048
"""The size of a matrix up to which more threads gain less than they lose where other programs have the cores."""


@functools.cache
def _libraries() -> ThreadpoolController:
    """Those loaded when it is first asked for: to look for them takes longer than a small problem."""
    return ThreadpoolController()


@contextlib.contextmanager
def few_threads(size: int) -> Iterator[None]:
    """Linear algebra with matrices of this size, on one thread if they are small.

    >>> import numpy as np
    >>> with few_threads(100):
    ...     np.linalg.eigvalsh(np.eye(2))
    array([1., 1.])
    """
    with _libraries().limit(limits=1, user_api="blas") if size <= SMALL else contextlib.nullcontext():
        yield

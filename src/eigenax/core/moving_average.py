"""Moving averages: the paper's two time scales."""

from typing import TypeVar

import jax
from jaxtyping import Array, Float

Tree = TypeVar("Tree")


def moving_average(old: Tree, new: Tree, rate: float | Float[Array, ""]) -> Tree:
    """(1 − β) old + β new, leaf by leaf; β = 1 forgets everything before.

    >>> moving_average(1.0, 3.0, 0.5)
    2.0
    """
    return jax.tree.map(lambda a, b: (1 - rate) * a + rate * b, old, new)

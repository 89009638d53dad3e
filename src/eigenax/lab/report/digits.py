"""How many digits of an eigenvalue are worth showing."""

import math

FEWEST, MOST = 6, 8
"""Limits of the number of decimals."""
FEWEST_IN_UNITS = 2
"""The lower one of values that have a unit, such as cm⁻¹."""


def decimals(standard_errors: list[float | None], fewest: int = FEWEST) -> int:
    """Number of decimals: one more than the first digit of the smallest standard error, between `fewest` and `MOST`.

    >>> decimals([1e-3, 2e-2]), decimals([3e-6])
    (6, 7)
    """
    known = [error for error in standard_errors if error]
    wanted = 1 - math.floor(math.log10(min(known))) if known else fewest
    return min(max(wanted, fewest), MOST)


def rounded(value: float, places: int) -> str:
    """A number with this many decimals; zero has no sign.

    >>> rounded(-1e-9, 6), rounded(-0.25, 2)
    ('0.000000', '-0.25')
    """
    return f"{round(value, places) + 0.0:.{places}f}"

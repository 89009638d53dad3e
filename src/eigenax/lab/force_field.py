"""Polynomial force fields of molecules, read from text files."""

import dataclasses
import math
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Self

import numpy as np
from jaxtyping import Float

from eigenax.domains.box import Box
from eigenax.errors import InputError
from eigenax.lab.polynomial import Polynomial


@dataclasses.dataclass(frozen=True, eq=False)
class ForceField:
    """H = Σ_i ω_i/2 (p_i² + q_i²) + Σ_t c_t ∏_m q_m^(k_tm)/k_tm! in dimensionless normal coordinates q.

    In x_i = q_i/√ω_i it is −½∇² + V, V the `potential`. Its file has comments after #, one line of frequencies, and one
    line for each constant: the modes, counted from 0 and repeated as often as their power, a colon, and the constant.

    >>> _ = Path("two.txt").write_text("1 2  # frequencies\\n0 0 1 : 0.5  # 0.5 q₀²/2! q₁\\n")
    >>> field = ForceField.read("two.txt")
    >>> import eigenax as ex
    >>> operator, box = -0.5 * ex.Laplacian() + ex.Potential(field.potential), field.box(4.0)
    >>> field.anharmonic.coefficients, box.half_width.round(3)
    (array([0.25]), array([4.   , 2.828]))
    """

    frequencies: Float[np.ndarray, " d"]
    anharmonic: Polynomial
    """The sum over the constants, in q."""

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """Read a file; `InputError` names the line that cannot be read and what was expected there."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {error}") from error
        lines = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), 1))
        filled = [(f"{path}, line {number}", line) for number, line in lines if line]
        if not filled:
            raise InputError(f"{path} is empty: expected a line of frequencies, then lines such as 0 0 1 : -21.1")
        frequencies = _frequencies(*filled[0])
        constants: dict[tuple[int, ...], float] = {}
        for place, line in filled[1:]:
            modes, constant = _constant(place, line, len(frequencies))
            if modes in constants:
                raise InputError(f"{place}: a constant of modes {' '.join(map(str, modes))} was given before")
            constants[modes] = constant
        terms = [(c / math.prod(map(math.factorial, Counter(modes).values())), modes) for modes, c in constants.items()]
        return cls(np.array(frequencies), Polynomial.of(terms, len(frequencies)))

    @property
    def potential(self) -> Polynomial:
        """V in the coordinates x in which the kinetic energy is −½∇²."""
        squares = Polynomial(self.frequencies / 2, 2 * np.eye(len(self.frequencies), dtype=int))
        return (squares + self.anharmonic).rescaled(np.sqrt(self.frequencies))

    @property
    def scales(self) -> Float[np.ndarray, " d"]:
        """x_i at q_i = 1: the widths of the harmonic ground state."""
        return 1 / np.sqrt(self.frequencies)

    def box(self, q: float) -> Box:
        """The box |q_i| ≤ q, in x."""
        reach = q * self.scales
        return Box((-reach).tolist(), reach.tolist())


def _frequencies(place: str, line: str) -> list[float]:
    try:
        values = [float(word) for word in line.split()]
    except ValueError:
        values = []
    if not values or not all(0 < value < math.inf for value in values):
        raise InputError(f"{place}: expected the frequencies, one positive number for each mode; got {line!r}")
    return values


def _constant(place: str, line: str, dims: int) -> tuple[tuple[int, ...], float]:
    """The modes in ascending order, and the constant."""
    before, colon, after = line.partition(":")
    try:
        modes, constant = tuple(sorted(map(int, before.split()))), float(after)
    except ValueError:
        modes, constant = (), math.nan
    if not colon or not modes or not math.isfinite(constant):
        raise InputError(f"{place}: expected modes, a colon and a constant, such as 0 0 1 : -21.1; got {line!r}")
    if modes[0] < 0 or modes[-1] >= dims:
        wrong = next(mode for mode in modes if not 0 <= mode < dims)
        raise InputError(f"{place}: expected modes from 0 to {dims - 1}, of which there are frequencies; got {wrong}")
    return modes, constant

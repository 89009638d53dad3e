"""How many functions a basis has, and how many points measure it."""

from typing import NamedTuple

import jax


class Sizes(NamedTuple):
    """What was asked for; nothing where that is left to the problem."""

    n_basis: int | None = None
    max_basis: int | None = None
    samples: int | None = None

    def size(self, step: int, n: int, first: int, most: int) -> int:
        """The number of functions in a step, counted from zero; twice as many as in the one before, up to a limit.

        What was asked for is what is taken. Elsewhere it is `first`, at least four for each of n modes, and `most`, at
        least 16 for each and as many as were asked to begin with.

        >>> Sizes(n_basis=128).size(1, 4, 256, 1024)
        256
        """
        begin, limit = self.n_basis or max(first, 4 * n), self.max_basis or max(most, self.n_basis or 0, 16 * n)
        return min(begin * 2**step, limit)

    def counts(self, n: int, first: int, most: int) -> list[int]:
        """The numbers of functions of all steps that have more than the one before."""
        found = [self.size(0, n, first, most)]
        while (count := self.size(len(found), n, first, most)) > found[-1]:
            found.append(count)
        return found

    def points(self, functions: int) -> int:
        """The number of points for so many functions; on a GPU, where they cost little, more."""
        return self.samples or functions * (64 if jax.default_backend() == "cpu" else 256)

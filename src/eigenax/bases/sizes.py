"""How many functions a basis has, and how many points measure it."""

from typing import NamedTuple

import jax


class Sizes(NamedTuple):
    """The sizes that were asked for; None where the discretisation chooses."""

    n_basis: int | None = None
    max_basis: int | None = None
    samples: int | None = None

    def size(self, step: int, n: int, first: int, most: int) -> int:
        """The number of functions of a step, counted from zero: doubled from step to step, up to a limit.

        It begins with `n_basis`, or with `first` but at least 4 n, for n modes. The limit is `max_basis`, or `most` but
        at least 16 n and `n_basis`.

        >>> Sizes(n_basis=128).size(1, 4, 256, 1024)
        256
        """
        begin, limit = self.n_basis or max(first, 4 * n), self.max_basis or max(most, self.n_basis or 0, 16 * n)
        return min(begin * 2**step, limit)

    def counts(self, n: int, first: int, most: int) -> list[int]:
        """The numbers of functions of all steps, as long as they grow."""
        found = [self.size(0, n, first, most)]
        while (count := self.size(len(found), n, first, most)) > found[-1]:
            found.append(count)
        return found

    def points(self, functions: int) -> int:
        """The number of points that measure so many functions; more on a GPU, where they cost little."""
        return self.samples or functions * (64 if jax.default_backend() == "cpu" else 256)

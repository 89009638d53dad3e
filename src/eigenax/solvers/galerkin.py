"""The choice of random waves and the Rayleigh–Ritz method, as a solver beside those that train."""

import equinox as eqx
import jax


class Galerkin(eqx.Module):
    """No training: ever more random waves where the states are, and their best combinations in float64.

    What `solve` takes for a local operator on a box or a surface, for the Laplacian of a graph whose nodes are rows of
    numbers, and for a kernel of such rows. The first of its steps has `waves` functions, or four for each mode, and
    each further one twice as many, up to `most`, by default 1024, or 16 for each mode, and on a graph 4096 or two for
    each of 8192 nodes. A step draws `points` for each of them, by default 64 on a processor and 256 on other devices,
    where they cost little; of a graph it takes all, and of a kernel a dense matrix tells how many waves are enough.

    >>> Galerkin(waves=128).count(step=1, n=4)
    256
    """

    waves: int = eqx.field(static=True, default=256)
    most: int | None = eqx.field(static=True, default=None)
    points: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        for name in ("waves", "most", "points"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}")

    def count(self, step: int, n: int, most: int = 1024) -> int:
        """The number of waves in a step, counted from zero; `most` is where the solver does not say."""
        return min(max(self.waves, 4 * n) * 2**step, max(self.most or most, 16 * n))

    def counts(self, n: int, most: int) -> list[int]:
        """The numbers of waves of all steps that have more than the one before."""
        found = [self.count(0, n, most)]
        while (count := self.count(len(found), n, most)) > found[-1]:
            found.append(count)
        return found

    def grows(self, step: int, n: int) -> bool:
        """Whether a step has more waves than the one before."""
        return step == 0 or self.count(step, n) > self.count(step - 1, n)

    def samples(self, waves: int) -> int:
        """The number of points for so many waves."""
        return waves * (self.points or (64 if jax.default_backend() == "cpu" else 256))

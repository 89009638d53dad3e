"""An integral operator under a normal distribution, beside its closed form and beside Nyström's method."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from eigenax.lab.experiment import IterativeExperiment, Outcome, Preset

if TYPE_CHECKING:
    import numpy as np

    from eigenax.lab.spectra.mercer import Mercer
    from eigenax.operators.kernel import Kernel

NYSTROM_SEED = 1 << 16
"""Added to the seed for the random points of Nyström's method."""


@dataclasses.dataclass(frozen=True)
class KernelModes(IterativeExperiment):
    """The first eigenfunctions of K u(x) = E_x'[k(x, x') u(x')], x and x' standard normal."""

    name: ClassVar[str] = "kernel"
    summary: ClassVar[str] = "radial or polynomial kernel under a normal distribution, against the closed form"
    presets: ClassVar[dict[str, Preset]] = {
        "line": Preset("the radial kernel in one dimension"),
        "plane": Preset("the radial kernel in two dimensions", {"dims": 2}),
        "polynomial": Preset("the polynomial kernel in two dimensions", {"kernel": "polynomial", "dims": 2}),
    }
    reading: ClassVar[str] = (
        "Learned values are the best in the span of random waves, measured on other points than they were found on. "
        "The standard error combines the scatter between sets of points with the error that the residual implies. "
        "Nyström is the dense eigendecomposition of --points independent points. Ours uses more points, five sets of "
        "2048 or more, evenly spread and weighted, which a known density allows: they make most of the difference."
    )

    least_steps: ClassVar[int] = 0

    n: int = 10
    """Number of modes."""
    steps: int = 0
    """Bases of random waves to try at most; 0: as many as it takes."""
    kernel: Literal["rbf", "polynomial"] = "rbf"
    """exp(−|x − y|²/(2 length²)), or (1 + x·y)^degree."""
    dims: int = 1
    """Number of dimensions."""
    length: float = 1.0
    """Length scale of the radial kernel, in standard deviations of the distribution."""
    degree: int = 3
    """Degree of the polynomial kernel."""
    points: int = 2048
    """Points of Nyström's method."""

    def check(self) -> None:
        """Raise `ValueError` naming the first setting that makes no sense."""
        super().check()
        self.check_at_least_one("dims", "degree")
        self.check_positive("length")
        self.check_at_least(max(16, 2 * self.n), "points")
        if self.kernel == "polynomial":
            from eigenax.lab.spectra.mercer import polynomial_rank

            rank = polynomial_rank(self.degree, self.dims)
            if self.n > rank:
                raise ValueError(
                    f"--n must be at most {rank}, the rank of a polynomial kernel of degree {self.degree} in "
                    f"{self.dims} dimension(s); got {self.n}"
                )

    def operator(self) -> "Kernel":
        """The kernel as an operator."""
        import jax.numpy as jnp

        import eigenax

        if self.kernel == "polynomial":
            return eigenax.Kernel(lambda x, y: (1 + jnp.sum(x * y)) ** self.degree)
        return eigenax.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / (2 * self.length**2)))

    def closed_form(self, x: "np.ndarray") -> "Mercer":
        """Eigenvalues, and eigenfunctions at points (p, dims)."""
        from eigenax.lab.spectra.mercer import polynomial_modes, rbf_modes

        if self.kernel == "polynomial":
            return polynomial_modes(x, self.n, self.degree)
        return rbf_modes(x, self.n, self.length)

    def run(self, folder: Path, progress: bool) -> Outcome:
        """Solve, and compare with the closed form and with Nyström's method."""
        import numpy as np

        import eigenax
        from eigenax.lab.report.kernel import Compared, draw
        from eigenax.lab.scores.spectrum import relative_errors

        normal = eigenax.Gaussian(0.0, 1.0, dims=self.dims)
        modes = self.solved(self.operator(), normal, folder, progress, which="largest")
        exact, nystrom = self.closed_form(np.zeros((1, self.dims))).values, self.nystrom()
        errors = relative_errors(modes.eigenvalues, exact)
        result = {
            "stopped": modes.stop_reason,
            "exact": exact,
            "relative_errors": errors,
            "mean_relative_error": float(errors.mean()),
            "nystrom": nystrom,
            "nystrom_relative_errors": relative_errors(nystrom, exact),
            "columns": {"Nyström": relative_errors(nystrom, exact)},
            "waves": len(modes.coefficients) - 1,
        }
        return Outcome(modes, result, draw(Compared(modes, self.closed_form, exact, nystrom, self.points)))

    def nystrom(self) -> "np.ndarray":
        """The first n eigenvalues of the dense matrix k(x_i, x_j)/N of independent points."""
        import jax.numpy as jnp
        import numpy as np
        import scipy.linalg

        from eigenax.core.precision import precision_scope

        seed = (self.seed + NYSTROM_SEED) % 2**32
        x = np.random.default_rng(seed).normal(size=(self.points, self.dims))
        with precision_scope("float64"):
            gram = np.asarray(self.operator().gram(jnp.asarray(x))) / self.points
        last = (self.points - self.n, self.points - 1)
        return scipy.linalg.eigh(gram, eigvals_only=True, subset_by_index=last)[::-1]

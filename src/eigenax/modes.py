"""The result: ordered eigenvalues with their errors, and callable orthonormal eigenfunctions."""

import dataclasses
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Inexact, Real

from eigenax import modes_file
from eigenax.checks import positive_int
from eigenax.core.compiled import compiled
from eigenax.core.perturbation import Perturbed
from eigenax.core.precision import Precision, full_precision, precision_scope
from eigenax.core.random_streams import Stream
from eigenax.core.ritz import distance_to_exact
from eigenax.excitations import Excitations
from eigenax.matrix_elements import MatrixElements
from eigenax.modes_table import table
from eigenax.networks.combined import combined
from eigenax.operators.base import Operator
from eigenax.operators.potential import Potential
from eigenax.samples import BATCHES, FreshSamples
from eigenax.sources.uniform import as_source
from eigenax.stop_reason import StopReason

LARGEST_MISSED_SHARE = 0.1
"""A function fitted to an eigenvector has converged if the fit misses at most this share of the variance."""
Which = Literal["smallest", "largest"]


class Modes(eqx.Module):
    """Eigenfunctions in order of their eigenvalues, orthonormal under the source they were found on.

    `modes(x)` maps points of shape (…, *shape) to values of shape (…, n), in float64 if `jax_enable_x64` is on. The
    sign of each function makes its largest value on fresh samples positive.
    """

    network: Any
    coefficients: Inexact[np.ndarray, "k n"]
    """The functions are network(x) @ coefficients."""
    eigenvalues: Float[np.ndarray, " n"]
    sampling_errors: Float[np.ndarray, " n"]
    """Standard errors of the eigenvalues from sampling: the scatter of the Rayleigh quotients between samples."""
    basis_errors: Float[np.ndarray, " n"]
    """How far the eigenvalues may be from the operator's, since the basis or the training was not enough."""
    residuals: Float[np.ndarray, " n"]
    """‖(K − λ) v‖ for each function."""
    shape: tuple[int, ...] = eqx.field(static=True)
    which: Which = eqx.field(static=True, default="smallest")
    steps: int = eqx.field(static=True, default=0)
    seed: int = eqx.field(static=True, default=0)
    precision: Precision = eqx.field(static=True, default="float32")
    """The precision in which the functions are evaluated."""
    source: Any = None
    """The source that the eigenvalues were measured on; None if it holds data."""
    solver: str = eqx.field(static=True, default="")
    """The name of the solver that found them."""
    stop_reason: StopReason | None = eqx.field(static=True, default=None)
    """Why the solver ended."""
    next_eigenvalue: float | None = eqx.field(static=True, default=None)
    """The eigenvalue that follows the last of these, where it was found along with them."""
    note: str = eqx.field(static=True, default="")
    """Why the errors are large, or what else is wrong with the eigenvalues, if that is known."""
    training_eigenvalues: Float[np.ndarray, " n"] | None = None
    """The eigenvalues on training data, where `eigenvalues` are those on held-out data."""
    missed: Float[np.ndarray, " n"] | None = None
    """The share of each eigenvector's variance that the function fitted to it misses.

    Only where `eigenvalues` are those of a matrix, and the functions are fits of its eigenvectors.
    """

    error_covariance: Float[np.ndarray, "n n"] | None = None
    """The covariance of the errors of the eigenvalues, where it is known: states of one network err alike."""
    extrapolated: bool = eqx.field(static=True, default=False)
    """Whether basis errors were told by how values fell along the training, which replaces residual²/gap."""

    @property
    def standard_errors(self) -> Float[np.ndarray, " n"]:
        """Standard errors of the eigenvalues, √(sampling_errors² + basis_errors²). One that is not known (NaN) is left
        out; NaN where neither is."""
        sampling, basis = (np.where(np.isnan(part), 0, part) for part in (self.sampling_errors, self.basis_errors))
        unknown = np.isnan(self.sampling_errors) & np.isnan(self.basis_errors)
        return np.where(unknown, np.nan, np.hypot(sampling, basis))

    @property
    def excitations(self) -> Excitations:
        """The excitation energies λ_k − λ_1 for k = 2 … n, `values` and `standard_errors`.

        Errors that all eigenvalues share, as those of one trained network do, cancel in the differences.
        """
        return Excitations.of(self.eigenvalues, self.standard_errors, self.error_covariance)

    @property
    def n(self) -> int:
        """The number of eigenfunctions."""
        return len(self.eigenvalues)

    def __getitem__(self, chosen: slice) -> "Modes":
        """A slice of the modes: `modes[1:]` leaves out the first one, such as a constant."""
        if not isinstance(chosen, slice):
            raise TypeError(f"modes are chosen by a slice such as modes[1:4]; got {chosen!r}")
        each = ("eigenvalues", "sampling_errors", "basis_errors", "residuals")
        fields = {name: getattr(self, name)[chosen] for name in each}
        following = dict(enumerate([*self.eigenvalues[1:].tolist(), self.next_eigenvalue]))
        fields |= {"next_eigenvalue": following.get(max(range(*chosen.indices(self.n)), default=-1))}
        for name in ("training_eigenvalues", "missed"):
            if (each := getattr(self, name)) is not None:
                fields[name] = each[chosen]
        if self.error_covariance is not None:
            fields["error_covariance"] = self.error_covariance[chosen][:, chosen]
        return dataclasses.replace(self, coefficients=self.coefficients[:, chosen], **fields)

    def at_point(self, x: Float[Array, "..."]) -> Inexact[Array, " n"]:
        """All functions at one point."""
        return combined(self.network, self.coefficients)(x)

    def __call__(self, x: Real[ArrayLike, "..."]) -> Inexact[Array, "... n"]:
        """All functions at points of any number and arrangement (…, *shape)."""
        usual = jnp.zeros((), complex if np.iscomplexobj(self.coefficients) else float).dtype
        with precision_scope(self.precision, at_least=True), full_precision():
            return self._evaluated(jnp.asarray(x, float)).astype(usual)

    def _evaluated(self, points: Float[Array, "..."]) -> Inexact[Array, "... n"]:
        axes = points.ndim - len(self.shape)
        if axes < 0 or points.shape[axes:] != self.shape:
            hint = "; for points on a line give x[:, None]" if self.shape == (1,) else ""
            raise ValueError(f"x must end in the shape of a point, {self.shape}; got {points.shape}{hint}")
        flat = points.reshape(-1, *self.shape)
        return _evaluate(self, flat).reshape(*points.shape[:axes], self.n)

    def matrix_elements(
        self, observable: Operator | Callable[[Array], Array], *, source: Any = None, samples: int = 2**17
    ) -> MatrixElements:
        """⟨v_i | O | v_j⟩ under the inner product of the source, with standard errors.

        `observable` is O: an operator, or a function of one point to multiply by. `source` is a source or a domain, by
        default the one that the modes were measured on; modes of data do not keep theirs and need it here.

        The standard errors combine the scatter between points with a first-order bound on what the errors of the
        functions change. That bound follows from the residuals, the errors of the eigenvalues and the gaps between
        these. It is linear in the errors of the functions, whereas eigenvalues change with their square. At a cusp the
        bound may be a hundred times too wide. It is NaN where neither residuals nor errors are known.

        Functions whose eigenvalues agree within their errors are found up to a rotation among them, which the standard
        errors do not include. Of such a level, only quantities that no rotation changes have a meaning, such as the sum
        of |⟨v_i|O|v_j⟩|² over all of its functions, or the trace of its block.

        >>> import eigenax as ex
        >>> modes = ex.measure(lambda x: jnp.sin(jnp.pi * x), -ex.Laplacian(), ex.Box(0, 1))
        >>> modes.matrix_elements(lambda x: x[0]).values.round(2)  # where the particle is
        array([[0.5]])
        """
        place = self.source if source is None else as_source(source)
        if place is None:
            raise ValueError(
                "these modes do not keep the data they were measured on: give the source to average over, such as "
                "source=Arrays(x)"
            )
        operator = observable if isinstance(observable, Operator) else Potential(observable)
        operator.check(place.sample(jax.random.key(0), 64))
        samples = positive_int("samples", samples, BATCHES)
        fresh = FreshSamples(
            place, self.seed, Stream.MATRIX_ELEMENTS, samples, evenly=operator.local, precision=self.precision
        )
        return MatrixElements.of(combined(self.network, self.coefficients), operator, fresh, self._perturbed)

    @property
    def _perturbed(self) -> Perturbed:
        """Bounds on how far the functions are from eigenfunctions."""
        if self.missed is not None:  # eigenvalues and residuals tell little of fits, the nearest to the eigenvectors
            return Perturbed(np.sqrt(self.missed), np.zeros((self.n, self.n)))
        # Unlike in `standard_errors`, a basis error that is not known (NaN) makes the result NaN.
        errors = np.hypot(np.nan_to_num(self.sampling_errors), self.basis_errors)
        return Perturbed.of(self.eigenvalues, errors, self.residuals, self.next_eigenvalue)

    def save(self, path: str | PathLike[str]) -> None:
        """Write one safetensors file, without pickle; `eigenax.load` reads the same values back."""
        modes_file.write(Path(path), self)

    def __repr__(self) -> str:
        """The arguments and the table, since a notebook shows this."""
        return f"Modes(n={self.n}, which={self.which!r}, solver={self.solver!r}):\n{self}"

    def __str__(self) -> str:
        """A table of the modes; a star marks those that have not converged."""
        return table(
            self.eigenvalues,
            self.standard_errors,
            self.unconverged,
            residuals=self.residuals,
            training=self.training_eigenvalues,
            missed=self.missed,
            advice="" if self.note else f"; take {(self.stop_reason or StopReason.LARGEST_BASIS).advice}",
            note=self.note,
        )

    @property
    def unconverged(self) -> Bool[np.ndarray, " n"]:
        """Which modes have not converged: those whose eigenvalue may be too far from the exact one.

        The larger of residual²/gap and the basis error estimates the distance. It is too far if it exceeds 1 % of the
        eigenvalue (for one near zero, a millionth of the largest eigenvalue found) and 3 sampling errors. An estimate
        that is unknown is left out; with both unknown the mode counts as not converged. A function fitted to a known
        eigenvector has also not converged if it misses more than a tenth of the variance.
        """
        size = np.abs(self.eigenvalues)
        distance = np.fmax(self.distances, self.basis_errors)
        largest = max(size.max(initial=0), abs(self.next_eigenvalue or 0.0))
        enough = np.maximum(0.01 * size, 1e-6 * largest)
        far = ~(distance <= np.maximum(enough, 3 * np.nan_to_num(self.sampling_errors)))
        return far if self.missed is None else far | (self.missed > LARGEST_MISSED_SHARE)

    @property
    def distances(self) -> Float[np.ndarray, " n"]:
        """Residual²/gap, an estimate of how far each eigenvalue is from the exact one.

        NaN, for not known, where the functions are fits and the eigenvalues those of the matrix, and where a basis
        error tells more.
        """
        if self.missed is not None:
            return np.full(self.n, np.nan)
        distances = distance_to_exact(self.eigenvalues, self.residuals, self.next_eigenvalue)
        return np.where(np.isfinite(self.basis_errors), np.nan, distances) if self.extrapolated else distances


@compiled
def _evaluate(modes: Modes, x: Float[Array, "b ..."]) -> Inexact[Array, "b n"]:
    return jax.vmap(modes.at_point)(x)


def load(path: str | PathLike[str]) -> Modes:
    """Read modes from a file written by `Modes.save`, or from the folder of a run.

    >>> import eigenax as ex
    >>> network = ex.MLP(1, 2, width=8, depth=1, key=jax.random.key(0))
    >>> ex.measure(network, ex.Potential(lambda x: x[0]), ex.Box(0, 1)).save("position.safetensors")
    >>> load("position.safetensors").eigenvalues.shape
    (2,)
    """
    return modes_file.read(Path(path))

"""The result: ordered eigenvalues with their errors, and callable orthonormal eigenfunctions."""

import dataclasses
import math
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Inexact, Real

from eigenax.checks import positive_int
from eigenax.core.batch import Batch, Function
from eigenax.core.perturbation import Perturbed
from eigenax.core.precision import Precision, full_precision, precision_scope
from eigenax.core.random_streams import Stream
from eigenax.core.rayleigh import HIGHEST, second_moment
from eigenax.core.ritz import distance_to_exact
from eigenax.errors import RunError
from eigenax.io import serialisation
from eigenax.io.files import check_format, pack_tensors, read_tensors, write_atomically
from eigenax.operators.base import Operator
from eigenax.operators.potential import Potential
from eigenax.samples import BATCHES, FreshSamples
from eigenax.sources.uniform import as_source
from eigenax.stop_reason import StopReason

FORMAT = "eigenax-modes-5"
FILE = "modes.safetensors"
LARGEST_MISSED_SHARE = 0.1
"""A function fitted to an eigenvector has converged if the fit misses at most this share of the variance."""
Which = Literal["smallest", "largest"]


class MatrixElements(NamedTuple):
    """The matrix elements ⟨v_i | O | v_j⟩ of n functions, with their standard errors."""

    values: Inexact[np.ndarray, "n n"]
    standard_errors: Float[np.ndarray, "n n"]


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

    @property
    def standard_errors(self) -> Float[np.ndarray, " n"]:
        """Standard errors of the eigenvalues, √(sampling_errors² + basis_errors²). One that is not known (NaN) is left
        out; NaN where neither is."""
        sampling, basis = (np.where(np.isnan(part), 0, part) for part in (self.sampling_errors, self.basis_errors))
        unknown = np.isnan(self.sampling_errors) & np.isnan(self.basis_errors)
        return np.where(unknown, np.nan, np.hypot(sampling, basis))

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

        parts = fresh.map(_elements, combined(self.network, self.coefficients), operator)
        elements, overlaps, squares, rounding = (part.mean(0) for part in parts)
        scatter = parts[0].std(0, ddof=1) / np.sqrt(len(parts[0]))
        return MatrixElements(elements, np.hypot(scatter, self._bounds(elements, overlaps, squares) + rounding))

    def _bounds(
        self,
        elements: Inexact[np.ndarray, "n n"],
        overlaps: Inexact[np.ndarray, "n n"],
        squares: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, "n n"]:
        """Errors of the elements from functions that are not exact, and not quite orthonormal on these points."""
        off = (overlaps - np.eye(self.n)) @ elements / 2
        # Unlike in `standard_errors`, a basis error that is not known (NaN) makes the result NaN.
        errors = np.hypot(np.nan_to_num(self.sampling_errors), self.basis_errors)
        if self.missed is None:
            found = Perturbed.of(self.eigenvalues, errors, self.residuals, self.next_eigenvalue)
        else:  # eigenvalues and residuals tell little of fits, which are the nearest to the eigenvectors there are
            found = Perturbed(np.sqrt(self.missed), np.zeros((self.n, self.n)))
        return np.abs(off + off.conj().T) + found.largest_changes(elements, squares)

    def save(self, path: str | PathLike[str]) -> None:
        """Write one safetensors file, without pickle; `eigenax.load` reads the same values back."""
        arrays: dict[str, np.ndarray] = {}
        try:
            description = serialisation.encode(self, arrays)
        except TypeError as error:
            raise RunError(
                f"these modes cannot be saved: {error}; use a network of eigenax, or write modes.network "
                "with equinox.tree_serialise_leaves and modes.coefficients yourself"
            ) from error
        write_atomically(Path(path), pack_tensors(arrays, {"format": FORMAT, "modes": description}))

    def __repr__(self) -> str:
        """The arguments and the table, since a notebook shows this."""
        return f"Modes(n={self.n}, which={self.which!r}, solver={self.solver!r}):\n{self}"

    def __str__(self) -> str:
        """A table of the modes; a star marks those that have not converged."""
        largest = np.abs(self.eigenvalues).max(initial=0)
        rows = [
            f"{k + 1:4d}  {_rounded(value, error, largest):>14s}  {error:10.1g}"
            for k, (value, error) in enumerate(zip(self.eigenvalues, self.standard_errors, strict=True))
        ]
        head, notes = f"mode  {'eigenvalue':>14s}  {'± std. err':>10s}", []
        if not np.isnan(self.residuals).all():  # unknown for the steps of a process
            rows = [f"{row}  {rest:8.1g}" for row, rest in zip(rows, self.residuals, strict=True)]
            head = f"{head}  residual"
        if self.training_eigenvalues is not None:
            rows = [f"{row}  {value:10.4g}" for row, value in zip(rows, self.training_eigenvalues, strict=True)]
            head = f"{head}  {'training':>10s}"
        if self.missed is not None:
            rows = [f"{row}  {100 * share:6.1f} %" for row, share in zip(rows, self.missed, strict=True)]
            head = f"{head}  {'missed':>8s}"
            notes = [
                "missed: eigenvalues are those of the matrix itself; functions are fits of its eigenvectors, and "
                "residuals are those of the fits"
            ]
        rows = [f"{row}{'  *' * bool(star)}" for row, star in zip(rows, self.unconverged, strict=True)]
        if self.unconverged.any():
            advice = "" if self.note else f"; take {(self.stop_reason or StopReason.LARGEST_BASIS).advice}"
            tells = "its residual or its basis error" if self.missed is None else "what its function misses"
            notes.append(f"* not converged, as {tells} tells{advice}")
        return "\n".join([head, *rows, *notes, *[self.note] * bool(self.note)])

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

        NaN, for not known, where the functions are fits and the eigenvalues those of the matrix.
        """
        if self.missed is not None:
            return np.full(self.n, np.nan)
        return distance_to_exact(self.eigenvalues, self.residuals, self.next_eigenvalue)


def _elements(batch: Batch, function: Function, operator: Operator) -> tuple[Array, ...]:
    """On the points of one batch: ⟨v_i | O | v_j⟩, ⟨v_i | v_j⟩, ‖O v_j‖² and the rounding error of the first."""
    v = jax.vmap(function)(batch.x)
    ov = operator.apply(function, batch, v)
    squares = jnp.mean(batch.weights[:, None] * jnp.abs(ov) ** 2, 0)
    norms = jnp.sqrt(squares)
    rounding = jnp.finfo(v.dtype).eps * jnp.maximum(norms[:, None], norms)
    return second_moment(v, ov, batch.weights), second_moment(v, v, batch.weights), squares, rounding


def combined(network: Function, coefficients: Inexact[Array | np.ndarray, "k n"]) -> Function:
    """The functions network(x) @ coefficients, as a pytree that compiled programs take as an argument."""
    return eqx.Partial(_combination, network, coefficients)


def _combination(network: Function, coefficients: Inexact[Array | np.ndarray, "k n"], x: Array) -> Array:
    u = network(x)
    usual = jnp.result_type(u.dtype, jnp.complex64) if jnp.iscomplexobj(coefficients) else u.dtype
    return jnp.matmul(u, jnp.asarray(coefficients, usual), precision=HIGHEST)


def _rounded(value: float, error: float, largest: float) -> str:
    """The value to one digit beyond its error, but at least six digits; 0 if it is zero up to rounding."""
    if abs(value) <= 1e-9 * largest:
        return "0"
    before_the_point = math.floor(math.log10(abs(value))) + 1
    places = 1 - math.floor(math.log10(error)) if 0 < error < math.inf else 0
    digits = min(max(6, before_the_point + places), 11)
    return f"{value:.{digits}g}" if digits == 6 else f"{value:.{max(digits - before_the_point, 0)}f}"


@eqx.filter_jit
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
    file = Path(path) / FILE if Path(path).is_dir() else Path(path)
    if not file.exists():
        runs = Path(path).is_dir() and any(Path(path).glob("settings.toml"))
        why = "the run is unfinished, `eigenax resume` it" if runs else "no such file"
        raise RunError(f"there are no modes at {file}: {why}")
    arrays, metadata = read_tensors(file)
    check_format(file, metadata.get("format"), FORMAT, "eigenax modes")
    try:
        return serialisation.decode(metadata["modes"], arrays)
    except (ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
        raise RunError(f"{file} was written by another version of eigenax ({error})") from error

"""What is true, by SciPy: spectral elements on lines and planes, sums of spectra, transition matrices, graphs."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import eigsh

Profile = Callable[[np.ndarray], np.ndarray]


def one(x: np.ndarray) -> np.ndarray:
    return np.ones_like(x)


def zero(x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x)


@functools.cache
def lobatto(degree: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss, Legendre and Lobatto on [−1, 1], and the matrix of derivatives at them."""
    legendre = np.polynomial.legendre.Legendre.basis(degree)
    x = np.concatenate([[-1.0], np.sort(legendre.deriv().roots().real), [1.0]])
    for _ in range(3):  # Newton, for the last digits
        x[1:-1] -= legendre.deriv()(x[1:-1]) / legendre.deriv(2)(x[1:-1])
    value = legendre(x)
    apart = x[:, None] - x + np.eye(degree + 1)
    slope = value[:, None] / value / apart
    np.fill_diagonal(slope, 0)
    np.fill_diagonal(slope, -slope.sum(1))
    return x, 2 / (degree * (degree + 1) * value**2), slope


class Line:
    """Functions on an interval in pieces of polynomials: nodes x, their weights, and the matrix of ∫ a u′ v′.

    Pieces end at `breaks`, where coefficients may jump; there are `pieces` of them in all, about. Ends are "dirichlet",
    "neumann", or both "periodic". The measure may be zero at an end, as at the pole of a sphere.
    """

    def __init__(
        self,
        breaks: Sequence[float],
        ends: tuple[str, str] = ("dirichlet", "dirichlet"),
        *,
        conductivity: Profile = one,
        measure: Profile = one,
        pieces: int = 24,
        degree: int = 12,
    ):
        whole = breaks[-1] - breaks[0]
        counts = [max(1, round(pieces * (b - a) / whole)) for a, b in itertools.pairwise(breaks)]
        cuts = [np.linspace(a, b, c + 1)[:-1] for (a, b), c in zip(itertools.pairwise(breaks), counts, strict=True)]
        edges = np.concatenate([*cuts, [breaks[-1]]])
        t, weights, slope = lobatto(degree)
        half, size = np.diff(edges)[:, None] / 2, (len(edges) - 1) * degree + 1
        nodes = edges[:-1, None] + half * (1 + t)
        # At a jump, the side of it that is meant.
        self.inside = np.clip(nodes, edges[:-1, None] + 1e-12 * half, edges[1:, None] - 1e-12 * half)
        index = np.arange(len(half))[:, None] * degree + np.arange(degree + 1)
        self.weights_inside = weights * half * measure(self.inside)
        stiffness = np.zeros((size, size))
        for here, through in zip(index, weights * conductivity(self.inside) / half, strict=True):
            stiffness[here[0] : here[-1] + 1, here[0] : here[-1] + 1] += slope.T @ (through[:, None] * slope)
        keep = np.eye(size)
        if ends[0] == "periodic":
            keep[-1, 0] = 1
            keep = keep[:, :-1]
        else:
            keep = keep[:, int(ends[0] == "dirichlet") : size - int(ends[1] == "dirichlet")]
        self.gather = keep.T @ np.eye(size)[:, index.ravel()]
        self.stiffness = keep.T @ stiffness @ keep
        x = np.zeros(size)
        x[index] = nodes
        self.x, self.weights = keep.T[:, :size] @ x if ends[0] != "periodic" else x[:-1], self.sums(one)

    def sums(self, profile: Profile) -> np.ndarray:
        """∫ of it around each node."""
        return self.gather @ (self.weights_inside * profile(self.inside)).ravel()

    def kinetic(self) -> np.ndarray:
        """The symmetric matrix of −(a u′)′ between functions of norm one at each node."""
        root = np.sqrt(self.weights)
        return self.stiffness / root[:, None] / root


def line_levels(
    potential: Profile, breaks: Sequence[float], n: int, *, kinetic: float = 1.0, **line: Any
) -> np.ndarray:
    """The first n values of −kinetic (a u′)′ + V u on a line."""
    on = Line(breaks, **line)
    matrix, weights = kinetic * on.stiffness + np.diag(on.sums(potential)), on.weights
    counts = weights > 1e-9 * weights.max()  # the others take what is best for their neighbours
    if not counts.all():
        beside = matrix[counts][:, ~counts]
        matrix = matrix[counts][:, counts] - beside @ np.linalg.solve(matrix[~counts][:, ~counts], beside.T)
    root = np.sqrt(weights[counts])
    return scipy.linalg.eigh(matrix / root[:, None] / root, subset_by_index=[0, n - 1], eigvals_only=True)


def lowest_sums(n: int, *spectra: np.ndarray) -> np.ndarray:
    """The first n sums of one level of each axis."""
    sums = np.zeros(1)
    for levels in spectra:
        sums = np.sort((sums[:, None] + levels).ravel())[: max(n, 1) * 4]
    return sums[:n]


def plane_levels(
    potential: Callable[[np.ndarray, np.ndarray], np.ndarray], lines: tuple[Line, Line], n: int, *, kinetic: float = 1.0
) -> np.ndarray:
    """The first n values of −kinetic ∇² + V on a rectangle."""
    (x, across), (y, up) = ((line.x, scipy.sparse.csr_array(kinetic * line.kinetic())) for line in lines)
    values = potential(x[:, None], y[None]).ravel()
    eye = [scipy.sparse.eye_array(len(axis), format="csr") for axis in (x, y)]
    matrix = scipy.sparse.kron(across, eye[1]) + scipy.sparse.kron(eye[0], up) + scipy.sparse.diags_array(values)
    below = values.min() - 1
    return np.sort(eigsh(scipy.sparse.csc_array(matrix), k=n, sigma=below, return_eigenvectors=False))


def graph_levels(weights: Any, n: int, *, by_degrees: bool = False) -> np.ndarray:
    """The first n values of D − A, or of I − D⁻¹A, of a symmetric matrix of weights."""
    weights = scipy.sparse.csr_array(weights, dtype=float)
    degrees = np.asarray(weights.sum(1)).ravel()
    laplacian = scipy.sparse.csr_array(scipy.sparse.diags_array(degrees) - weights)
    if by_degrees:
        scale = scipy.sparse.diags_array(degrees**-0.5)
        laplacian = scale @ laplacian @ scale
    if weights.shape[0] <= 1500:  # pyright: ignore[reportOptionalSubscript]
        return scipy.linalg.eigh(laplacian.toarray(), subset_by_index=[0, n - 1], eigvals_only=True)
    # A few more than are asked for: values of several functions may come out with one missing.
    below = -1e-3 * float(np.median(laplacian.diagonal()))
    found = eigsh(scipy.sparse.csc_array(laplacian), k=n + 6, sigma=below, which="LM", return_eigenvectors=False)
    return np.sort(found)[:n]


def reversible_levels(chain: np.ndarray, n: int) -> np.ndarray:
    """The largest n values, the constant's 1 first, of a transition matrix with its time reversed half of the time.

    States of a share of less than 1e-11, which rounding cannot tell from none, are left out.
    """
    stationary = stationary_of(chain)
    seen = stationary > 1e-11
    stationary, chain = stationary[seen], chain[seen][:, seen]
    flow = stationary[:, None] * chain
    root = np.sqrt(stationary)
    both = (flow + flow.T) / 2 / root[:, None] / root
    return np.sort(np.linalg.eigvalsh(both))[::-1][:n]


def stationary_of(chain: np.ndarray) -> np.ndarray:
    """The distribution that steps do not change."""
    unchanged = np.concatenate([chain.T - np.eye(len(chain)), np.ones((1, len(chain)))])
    share: np.ndarray = np.linalg.lstsq(unchanged, np.eye(len(chain) + 1)[-1], rcond=None)[0]
    return np.maximum(share, 1e-300)


def walk_of(chain: np.ndarray, steps: int, rng: np.random.Generator) -> np.ndarray:
    """So many states, each drawn from the row of the one before."""
    sums, uniform = np.cumsum(chain, axis=1), rng.random(steps)
    states = np.zeros(steps, int)
    states[0] = np.searchsorted(np.cumsum(stationary_of(chain)), uniform[0])
    for step in range(1, steps):
        states[step] = min(np.searchsorted(sums[states[step - 1]], uniform[step]), len(chain) - 1)
    return states

"""Closed forms against dense quadrature."""

import itertools

import numpy as np
import pytest

from eigenax.lab.spectra.mercer import (
    polynomial_modes,
    polynomial_rank,
    polynomial_spectrum,
    rbf_modes,
    rbf_spectrum,
)


def gauss_hermite(points, spread, dims):
    """Nodes and weights of a normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    weights = weights / weights.sum()
    every = np.array(list(itertools.product(range(points), repeat=dims)))
    return spread * nodes[every], weights[every].prod(1)


def dense(gram, weights, n):
    """The largest eigenvalues of the operator by quadrature."""
    roots = np.sqrt(weights)
    return np.linalg.eigvalsh(roots[:, None] * gram * roots)[::-1][:n]


def rbf(x, y, length):
    return np.exp(-((x[:, None] - y) ** 2).sum(-1) / (2 * length**2))


@pytest.mark.parametrize(
    ("dims", "length", "spread", "points", "n"),
    [(1, 1.0, 1.0, 80, 10), (1, 0.7, 2.0, 150, 10), (2, 1.0, 1.0, 32, 10), (2, 2.0, 0.5, 16, 6), (3, 3.0, 1.0, 11, 10)],
)
def test_rbf_against_quadrature(dims, length, spread, points, n):
    x, weights = gauss_hermite(points, spread, dims)
    gram = rbf(x, x, length)
    found = rbf_modes(x, n, length, spread)
    np.testing.assert_allclose(found.values, dense(gram, weights, n), rtol=1e-5)
    np.testing.assert_array_equal(found.values, rbf_spectrum(n, dims, length, spread))
    np.testing.assert_allclose(found.functions.T @ (weights[:, None] * found.functions), np.eye(n), atol=1e-4)
    applied = gram @ (weights[:, None] * found.functions)
    middle = np.abs(x).max(1) < 3 * spread
    np.testing.assert_allclose(applied[middle], (found.values * found.functions)[middle], atol=1e-5)


@pytest.mark.parametrize(("dims", "degree", "spread", "n"), [(1, 3, 1.0, 4), (1, 6, 0.5, 7), (2, 3, 1.3, 10)])
def test_polynomials_against_quadrature(dims, degree, spread, n):
    x, weights = gauss_hermite(degree + 2, spread, dims)
    gram = (1 + x @ x.T) ** degree
    found = polynomial_modes(x, n, degree, spread)
    np.testing.assert_allclose(found.values, dense(gram, weights, n), rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(found.values, polynomial_spectrum(n, degree, dims, spread))
    np.testing.assert_allclose(found.functions.T @ (weights[:, None] * found.functions), np.eye(n), atol=1e-8)
    applied = gram @ (weights[:, None] * found.functions)
    np.testing.assert_allclose(applied, found.values * found.functions, rtol=1e-8, atol=1e-8 * found.values[0])


def test_values_descend_and_add_up_to_the_mean_of_the_diagonal():
    assert (np.diff(rbf_spectrum(200, dims=3)) <= 0).all()
    assert rbf_spectrum(60).sum() == pytest.approx(1)
    assert polynomial_spectrum(3, 2).sum() == pytest.approx(1 + 2 + 3)  # E[(1 + x²)²]
    assert polynomial_rank(2) == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rbf_spectrum(0), "n must be at least 1; got 0"),
        (lambda: rbf_spectrum(3, length=0.0), "length must be positive"),
        (lambda: rbf_spectrum(3, spread=-1.0), "spread must be positive"),
        (lambda: rbf_spectrum(3, dims=0), "dims must be at least 1"),
        (lambda: polynomial_spectrum(5, degree=3), "at most 4, the rank"),
        (lambda: polynomial_spectrum(1, degree=0), "degree must be at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()

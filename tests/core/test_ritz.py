"""Orthonormal combinations of functions against dense generalised eigenproblems."""

import numpy as np
import pytest
import scipy.linalg

from eigenax.core.averages import moving_average
from eigenax.core.ritz import combine
from eigenax.errors import SingularMomentsError


def moments(seed=0, size=5):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, size, size))
    return a @ a.T + np.eye(size), b + b.T


@pytest.mark.parametrize("sign", [1, -1])
def test_rotation_solves_the_generalised_eigenproblem_in_order(sign):
    sigma, pi = moments()
    values, coefficients = combine(sigma, pi, "rotate", sign)
    np.testing.assert_allclose(values, scipy.linalg.eigh(pi, sigma, eigvals_only=True)[::sign])
    np.testing.assert_allclose(coefficients.T @ sigma @ coefficients, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(coefficients.T @ pi @ coefficients, np.diag(values), atol=1e-10)


def test_triangular_is_the_papers_whitening():
    sigma, pi = moments()
    values, coefficients = combine(sigma, pi, "triangular")
    np.testing.assert_allclose(np.tril(coefficients, -1), 0)
    np.testing.assert_allclose(coefficients.T @ sigma @ coefficients, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(values, np.diag(coefficients.T @ pi @ coefficients))


@pytest.mark.parametrize("sigma", [np.ones((2, 2)), np.full((2, 2), np.nan), -np.eye(2)])
def test_functions_that_died_are_named(sigma):
    with pytest.raises(SingularMomentsError, match="not positive definite"):
        combine(sigma, np.eye(2))


def test_moving_average_with_rate_one_forgets_everything_exactly():
    assert moving_average(1e8, 0.1, 1.0) == 0.1
    assert moving_average({"a": 0.0}, {"a": 4.0}, 0.25) == {"a": 1.0}

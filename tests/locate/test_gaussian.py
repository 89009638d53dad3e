"""The Gaussian of lowest energy: exact for coupled oscillators in many dimensions, and for one well of several."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.locate.gaussian import GaussianState, self_consistent_gaussian

KEY = jax.random.key(0)


@pytest.mark.parametrize("dims", [3, 40])
def test_coupled_oscillators_are_exact_however_bad_the_start(dims):
    rng = np.random.default_rng(dims)
    matrix = np.diag(rng.uniform(0.5, 10, dims)) + 0.2 * np.ones((dims, dims))
    centre = rng.normal(size=dims)
    operator = -0.5 * ex.Laplacian() + ex.Potential(
        lambda x: (x - jnp.asarray(centre, x.dtype)) @ jnp.asarray(matrix, x.dtype) @ (x - centre.astype(x.dtype)) / 2
    )
    start = GaussianState(np.full(dims, 4.0), 3 * np.eye(dims))
    found = self_consistent_gaussian(operator, ex.Box(-9, 9, dims=dims), start, KEY)
    sizes, axes = np.linalg.eigh(matrix)
    np.testing.assert_allclose(found.mean, centre, atol=1e-3)
    np.testing.assert_allclose(found.covariance, axes / (2 * np.sqrt(sizes)) @ axes.T, atol=2e-3)


def test_a_quartic_well_has_the_variational_width():
    """For −∇² + x⁴, the energy 1/(4C) + 3C² is lowest at C³ = 1/24."""
    operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**4))
    found = self_consistent_gaussian(operator, ex.Box(-5, 5, dims=2), GaussianState(np.zeros(2), np.eye(2)), KEY)
    np.testing.assert_allclose(np.diag(found.covariance), (1 / 24) ** (1 / 3), rtol=0.05)


def test_a_potential_that_is_not_finite_gives_none():
    operator = -ex.Laplacian() + ex.Potential(lambda x: jnp.log(x[0]))
    start = GaussianState(np.zeros(2), np.eye(2))
    assert self_consistent_gaussian(operator, ex.Box(-5, 5, dims=2), start, KEY) is None

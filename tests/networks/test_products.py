"""Products of inputs: the lowest ones, none of them a combination of others."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.networks.products import lowest_products, powers, values_of


@pytest.mark.parametrize("most", [2, 4])
def test_products_are_those_of_the_lowest_energies(most):
    energies = np.array([1.0, 1.7, 3.1, 3.3])
    every = [one for degree in range(2, most + 1) for one in itertools.combinations_with_replacement(range(4), degree)]
    every.sort(key=lambda one: energies[list(one)].sum())
    found = lowest_products(energies, 10, most)
    np.testing.assert_allclose(
        [energies[list(one)].sum() for one in found], [energies[list(one)].sum() for one in every[:10]]
    )


def test_values_are_products_of_powers_and_of_chebyshev_polynomials():
    products = ((0, 0), (0, 0, 0), (0, 1), (1, 1), (1, 1, 1), (0, 0, 1, 1))
    found = values_of(products, jnp.array([2.0, 0.3]), unbounded=1)
    t2, t3 = 2 * 0.09 - 1, 4 * 0.027 - 0.9
    np.testing.assert_allclose(found, [4, 8, 2 * 0.3, t2, t3, 4 * t2], rtol=1e-5)
    assert values_of((), jnp.ones(2), 1).shape == (0,)


def test_products_of_a_cosine_and_its_sine_are_independent():
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, (200, 2))
    y = np.stack([np.cos(angles[:, 0]), np.sin(angles[:, 0]), np.cos(angles[:, 1]), np.sin(angles[:, 1])], 1)
    products = {*powers(range(4), 4, sines=(1, 3)), *lowest_products(np.ones(4), 40, sines=(1, 3))}
    columns = [np.ones(200), *y.T, *(y[:, list(one)].prod(1) for one in products)]
    assert np.linalg.matrix_rank(np.stack(columns)) == len(columns)

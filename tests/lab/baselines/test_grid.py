"""The grid baseline against closed forms."""

import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.domains.box import Box
from eigenax.lab.baselines.grid import grid_modes


@pytest.mark.parametrize("dims", [1, 2])
def test_empty_box_has_the_eigenvalues_of_the_discrete_laplacian(dims):
    points, side = 30, 3.0
    found = grid_modes(lambda x: jnp.zeros(()), Box(0, side, dims=dims), n=3, points=points)
    spacing = side / (points + 1)
    line = (2 - 2 * np.cos(np.pi * np.arange(1, 4) / (points + 1))) / spacing**2
    expected = line if dims == 1 else np.sort((line[:, None] + line).ravel())[:3]
    np.testing.assert_allclose(found.eigenvalues, expected, rtol=1e-5)
    assert found.vectors.shape == (3, *[points] * dims)


def test_oscillator_on_unequal_sides():
    found = grid_modes(lambda x: x[0] ** 2 + 4 * x[1] ** 2, Box([-7, -5], [7, 5]), n=4, points=100)
    np.testing.assert_allclose(found.eigenvalues, [3, 5, 7, 7], rtol=1e-2)

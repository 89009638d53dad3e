"""Bridge sampling against Gaussian integrals."""

import numpy as np
import pytest

from eigenax.core.bridge import bridge

LOG_ROOT_2_PI = np.log(2 * np.pi) / 2


@pytest.mark.parametrize(("dims", "shift", "width"), [(1, 0.0, 1.0), (3, 0.7, 1.5), (20, 0.1, 1.1)])
def test_the_integral_of_a_gaussian_is_within_its_errors(dims, shift, width):
    rng = np.random.default_rng(dims)
    p, q = rng.normal(size=(5000, dims)), shift + width * rng.normal(size=(5000, dims))

    def log_p(x):
        return -(x**2).sum(1) / 2 + 100.0  # a factor of exp(100) that overflows nothing

    def log_q(x):
        return -(((x - shift) / width) ** 2).sum(1) / 2 - dims * (LOG_ROOT_2_PI + np.log(width))

    found = bridge(log_p(p), log_q(p), log_p(q), log_q(q))
    assert abs(found.log - 100 - dims * LOG_ROOT_2_PI) < 4 * found.error + 1e-9
    assert found.error < 0.05


def test_points_where_the_density_is_zero_count_as_such():
    rng = np.random.default_rng(0)
    p, q = rng.uniform(0, 1, 5000), rng.uniform(0, 2, 5000)
    found = bridge(np.zeros(5000), np.full(5000, -np.log(2)), np.where(q < 1, 0.0, -1e4), np.full(5000, -np.log(2)))
    assert len(p) == 5000
    assert abs(found.log) < 4 * found.error

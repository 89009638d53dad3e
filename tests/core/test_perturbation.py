"""How far functions may be off, to first order."""

import numpy as np
import pytest

from eigenax.core.perturbation import Perturbed


@pytest.mark.filterwarnings("error")
def test_functions_of_infinite_error_may_be_wrong_altogether():
    found = Perturbed.of(np.array([-1.0, -0.5, -0.2]), np.full(3, np.inf), np.array([3.0, 2.0, 1.0]), -0.1)
    np.testing.assert_array_equal(found.outside, 1)


def test_one_function_without_a_residual_is_exact():
    assert Perturbed.of(np.array([2.0]), np.array([0.0]), np.array([0.0])).outside == 0

"""The spectrum of a sphere."""

import numpy as np
import pytest

from eigenax.lab.spectra.sphere import sphere_spectrum


def test_each_degree_has_its_functions():
    np.testing.assert_array_equal(sphere_spectrum(16), [0] + [2] * 3 + [6] * 5 + [12] * 7)
    np.testing.assert_array_equal(sphere_spectrum(4, radius=0.5), [0, 8, 8, 8])


def test_nothing_and_no_sphere_are_refused():
    with pytest.raises(ValueError, match="n must be at least 1; got 0"):
        sphere_spectrum(0)
    with pytest.raises(ValueError, match="radius must be positive"):
        sphere_spectrum(3, radius=0.0)

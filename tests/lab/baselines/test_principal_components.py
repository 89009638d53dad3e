"""Principal components against the singular value decomposition."""

import numpy as np

from eigenax.lab.baselines.principal_components import principal_components


def test_principal_components_are_those_of_a_singular_value_decomposition():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 40)) * np.linspace(5, 0.5, 40)
    found = principal_components(rows, 4)
    exact = np.linalg.svd(rows - rows.mean(0))[2][:4]
    np.testing.assert_allclose(np.abs(np.sum(found.matrix.T * exact, 1)), 1, atol=1e-3)

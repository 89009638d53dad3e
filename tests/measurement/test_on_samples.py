"""What fresh samples tell of functions: moments, signs and errors that are known in closed form."""

import jax.numpy as jnp
import numpy as np

import eigenax as ex
from eigenax.core.random_streams import Stream
from eigenax.measurement.on_samples import errors, moments, signs
from eigenax.samples import FreshSamples

LINE = ex.Box(0.0, 1.0, dims=1)
EXACT = (np.pi * np.arange(1, 5)) ** 2
"""Of −d²/dx² between walls; the functions are √2 sin(kπx)."""


def sines(x):
    return jnp.sqrt(2.0) * jnp.sin(np.pi * jnp.arange(1, 5) * x[0])


def fresh(samples=2**14, evenly=False):
    return FreshSamples(ex.Uniform(LINE), 0, Stream.MEASURING, samples, evenly=evenly, precision="float64")


def test_errors_are_the_scatter_of_the_mean_and_residuals_that_of_the_values():
    """Of x, which multiplies the constant function: both are the standard deviation of x, 1/√12."""
    position, one = ex.Potential(lambda x: x[0]), lambda x: jnp.ones(1, x.dtype)
    scatter, residuals = errors(one, np.array([0.5]), position, fresh())
    np.testing.assert_allclose(residuals, 1 / np.sqrt(12), rtol=0.02)
    np.testing.assert_allclose(scatter, 1 / np.sqrt(12 * 2**14), rtol=0.3)  # from the scatter of 64 batches


def test_moments_are_means_over_points():
    sigma, pi, fourth = moments(sines, -ex.Laplacian(), fresh(evenly=True))
    np.testing.assert_allclose(sigma, np.eye(4), atol=1e-3)
    np.testing.assert_allclose(pi, np.diag(EXACT), atol=1e-3 * EXACT[-1])
    np.testing.assert_allclose(fourth, 1.5, rtol=1e-2)  # ⟨(√2 sin)⁴⟩


def test_signs_make_the_largest_value_positive_and_leave_zero_alone():
    found = signs(lambda x: jnp.stack([x[0], -x[0], 0 * x[0]]), fresh(2**10))
    np.testing.assert_array_equal(found, [1, -1, 1])
    turned = signs(lambda x: jnp.stack([1j * x[0], (1 + 1j) * x[0]]), fresh(2**10))
    np.testing.assert_allclose(turned, [-1j, (1 - 1j) / np.sqrt(2)], atol=1e-12)

"""From functions to modes: values, errors and residuals of functions whose own are known in closed form."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.random_streams import Stream
from eigenax.errors import SingularMomentsError
from eigenax.measurement import errors, moments, signs
from eigenax.samples import FreshSamples

LINE = ex.Box(0.0, 1.0, dims=1)
EXACT = (np.pi * np.arange(1, 5)) ** 2
"""Of −d²/dx² between walls; the functions are √2 sin(kπx)."""


class Sines(eqx.Module):
    """Combinations of the first four exact functions."""

    mixing: np.ndarray = eqx.field(converter=np.asarray)

    def __call__(self, x):
        return jnp.asarray(self.mixing, x.dtype) @ (jnp.sqrt(2.0) * jnp.sin(np.pi * jnp.arange(1, 5) * x[0]))


def fresh(samples=2**14, evenly=False):
    return FreshSamples(ex.Uniform(LINE), 0, Stream.MEASURING, samples, evenly=evenly, precision="float64")


@pytest.mark.parametrize("which", ["smallest", "largest"])
def test_mixed_eigenfunctions_are_told_apart_and_put_in_order(which):
    mixed = Sines(np.random.default_rng(0).normal(size=(4, 4)))
    sign = 1 if which == "smallest" else -1
    modes = ex.measure(mixed, -sign * ex.Laplacian(), LINE, which=which, samples=2**12, precision="float64")
    np.testing.assert_allclose(modes.eigenvalues, sign * EXACT, rtol=1e-6)  # quadratic in what points miss
    assert (np.stack([modes.sampling_errors, modes.residuals]) < 1e-2 * EXACT).all()
    x = np.linspace(0, 1, 9)[:, None]
    exact = np.sqrt(2) * np.sin(np.pi * np.arange(1, 5) * x)
    np.testing.assert_allclose(np.abs(modes(x)), np.abs(exact), atol=1e-3)


@pytest.mark.parametrize("angle", [0.1, 0.7])
def test_a_function_that_is_none_has_the_quotient_and_the_residual_of_its_parts(angle):
    cos, sin = np.cos(angle), np.sin(angle)
    modes = ex.measure(Sines([[cos, sin, 0, 0]]), -ex.Laplacian(), LINE, samples=2**15, precision="float64")
    np.testing.assert_allclose(modes.eigenvalues, cos**2 * EXACT[0] + sin**2 * EXACT[1], rtol=1e-3)
    np.testing.assert_allclose(modes.residuals, sin * cos * (EXACT[1] - EXACT[0]), rtol=1e-3)
    assert (modes.basis_errors >= modes.eigenvalues - EXACT[0]).all()


def test_the_best_combinations_are_found_of_more_functions_than_are_asked_for():
    mixed = Sines(np.random.default_rng(1).normal(size=(4, 4)))
    modes = ex.measure(mixed, -ex.Laplacian(), LINE, n=2, finish="ritz", samples=2**12)
    assert modes.precision == "float64"
    np.testing.assert_allclose(modes.eigenvalues, EXACT[:2], rtol=1e-6)
    np.testing.assert_allclose(modes.next_eigenvalue, EXACT[2], rtol=1e-6)


def test_errors_are_the_scatter_of_the_mean_and_residuals_that_of_the_values():
    """Of x, which multiplies the constant function: both are the standard deviation of x, 1/√12."""
    position, one = ex.Potential(lambda x: x[0]), lambda x: jnp.ones(1, x.dtype)
    scatter, residuals = errors(one, np.array([0.5]), position, fresh())
    np.testing.assert_allclose(residuals, 1 / np.sqrt(12), rtol=0.02)
    np.testing.assert_allclose(scatter, 1 / np.sqrt(12 * 2**14), rtol=0.3)  # from the scatter of 64 batches


def test_moments_are_means_over_points():
    sigma, pi, fourth = moments(Sines(np.eye(4)), -ex.Laplacian(), fresh(evenly=True))
    np.testing.assert_allclose(sigma, np.eye(4), atol=1e-3)
    np.testing.assert_allclose(pi, np.diag(EXACT), atol=1e-3 * EXACT[-1])
    np.testing.assert_allclose(fourth, 1.5, rtol=1e-2)  # ⟨(√2 sin)⁴⟩


def test_signs_make_the_largest_value_positive_and_leave_zero_alone():
    found = signs(lambda x: jnp.stack([x[0], -x[0], 0 * x[0]]), fresh(2**10))
    np.testing.assert_array_equal(found, [1, -1, 1])
    turned = signs(lambda x: jnp.stack([1j * x[0], (1 + 1j) * x[0]]), fresh(2**10))
    np.testing.assert_allclose(turned, [-1j, (1 - 1j) / np.sqrt(2)], atol=1e-12)


def test_functions_that_hardly_any_point_sees_are_counted_out():
    def narrow(x):
        return jnp.stack([jnp.ones((), x.dtype), jnp.where(jnp.abs(x[0] - 0.5) < 1e-5, 1.0, 0.0)])

    with pytest.raises(SingularMomentsError, match="support only 1 functions, but n is 2: draw more"):
        ex.measure(narrow, ex.Potential(lambda x: x[0]), LINE, n=2, finish="ritz", samples=2**10)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"finish": "qr"}, "finish must be 'eigh' or .*got 'qr'"),
        ({"which": "lowest"}, "which must be 'smallest' or 'largest'; got 'lowest'"),
        ({"samples": 32}, "samples must be a whole number of at least 64; got 32"),
        ({"finish": "ritz"}, "n must be a whole number of at least 1; got None"),
    ],
)
def test_wrong_settings_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        ex.measure(Sines(np.eye(4)), -ex.Laplacian(), LINE, **change)

"""From functions to modes: values, errors and residuals of functions whose own are known in closed form."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.errors import SingularMomentsError

LINE = ex.Box(0.0, 1.0, dims=1)
EXACT = (np.pi * np.arange(1, 5)) ** 2
"""Of −d²/dx² between walls; the functions are √2 sin(kπx)."""


class Sines(eqx.Module):
    """Combinations of the first four exact functions."""

    mixing: np.ndarray = eqx.field(converter=np.asarray)

    def __call__(self, x):
        return jnp.asarray(self.mixing, x.dtype) @ (jnp.sqrt(2.0) * jnp.sin(np.pi * jnp.arange(1, 5) * x[0]))


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

"""The three Laplacians against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.networks.boundary import BoxFactor
from eigenax.networks.features import CuspInputs


def at(operator, function, x):
    """K u at the points x."""

    @jax.jit
    def apply(x):
        return operator.apply(function, ex.Points(x, jnp.ones(len(x), x.dtype)), jax.vmap(function)(x))

    return apply(x)


def random_points(dims, count=6):
    return jnp.asarray(np.random.default_rng(dims).uniform(-1.5, 1.5, (count, dims)))


def smooth(x):
    """r⁴, exp(−r²/2) and ∏ sin(i x_i)."""
    squared, frequencies = jnp.sum(x**2), jnp.arange(1, x.size + 1, dtype=x.dtype)
    return jnp.stack([squared**2, jnp.exp(-squared / 2), jnp.prod(jnp.sin(frequencies * x))])


def laplacian_of_smooth(x):
    """4 (d + 2) r², (r² − d) exp(−r²/2) and −Σ i² ∏ sin(i x_i)."""
    x = np.asarray(x)
    squared, frequencies = (x**2).sum(1), np.arange(1, x.shape[1] + 1)
    sines = np.sin(frequencies * x).prod(1)
    dims = x.shape[1]
    return np.stack(
        [4 * (dims + 2) * squared, (squared - dims) * np.exp(-squared / 2), -(frequencies**2).sum() * sines], axis=1
    )


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("dims", [1, 2, 3, 5])
@pytest.mark.parametrize("method", ["forward", "exact"])
def test_polynomials_gaussians_and_sines_have_their_closed_form(method, dims):
    x = random_points(dims)
    np.testing.assert_allclose(at(ex.Laplacian(method), smooth, x), laplacian_of_smooth(x), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", ["forward", "exact"])
def test_single_precision_keeps_five_digits(method):
    x = jnp.asarray(random_points(3), jnp.float32)
    got = at(ex.Laplacian(method), smooth, x)
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, laplacian_of_smooth(x), rtol=2e-5, atol=2e-5)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("dims", "step"), [(1, 0.7), (2, 0.1), (3, 0.1), (5, 0.3)])
def test_finite_differences_are_exact_for_quadratics(dims, step):
    rng = np.random.default_rng(7)
    matrix, slope = rng.normal(size=(dims, dims)), rng.normal(size=dims)

    def quadratic(x):
        return jnp.stack([x @ matrix @ x + slope @ x + 3.0, slope @ x])

    got = at(ex.Laplacian("finite-difference", step), quadratic, random_points(dims))
    np.testing.assert_allclose(got, np.tile([2 * np.trace(matrix), 0.0], (6, 1)), atol=1e-10)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("dims", "step"), [(1, 0.5), (2, 0.1), (3, 0.5), (5, 0.1)])
def test_finite_differences_are_the_papers_stencil(dims, step):
    x, u = random_points(dims), jax.jit(jax.vmap(smooth))
    expected = np.zeros((len(x), 3))
    for shift in step * np.eye(dims):
        expected += (u(x + shift) + u(x - shift) - 2 * u(x)) / step**2
    np.testing.assert_allclose(at(ex.Laplacian("finite-difference", step), smooth, x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("step", [0.1, 0.5])
def test_finite_differences_of_a_sine_miss_by_the_known_factor(step):
    x = random_points(1)
    got = at(ex.Laplacian("finite-difference", step), jnp.sin, x)
    np.testing.assert_allclose(got, (2 * np.cos(step) - 2) / step**2 * np.sin(x), rtol=1e-10)


def test_defaults_are_forward_propagation_and_the_papers_step():
    assert (ex.Laplacian().method, ex.Laplacian().step) == ("forward", 0.1)


@pytest.mark.usefixtures("float64")
def test_forward_and_exact_agree_on_a_network_with_every_wrapper():
    key = jax.random.key(0)
    inputs = CuspInputs((0.1, -0.2))
    inner = ex.Compose(inputs, ex.MLP(inputs.size, 3, width=8, depth=2, key=key))
    network = ex.WithConstant(ex.Multiply(BoxFactor(-2.0, 2.0), inner))
    x = random_points(2)
    forward, exact = (at(ex.Laplacian(m), network, x) for m in ("forward", "exact"))
    np.testing.assert_allclose(forward, exact, rtol=1e-10, atol=1e-10)
    assert (np.asarray(exact[:, 0]) == 0).all()
    assert np.abs(exact[:, 1:]).max() > 0.1


@pytest.mark.usefixtures("float64")
def test_forward_and_exact_agree_for_every_smooth_activation():
    names = ["softplus", "tanh", "silu", "gelu", "sin"]
    networks = [ex.MLP(2, 1, width=4, depth=1, activation=name, key=jax.random.key(1)) for name in names]

    def side_by_side(x):
        return jnp.concatenate([network(x) for network in networks])

    forward, exact = (at(ex.Laplacian(m), side_by_side, random_points(2)) for m in ("forward", "exact"))
    np.testing.assert_allclose(forward, exact, rtol=1e-10, atol=1e-10)
    assert np.abs(exact).max(0).min() > 1e-3


@pytest.mark.parametrize("method", ["exact", "finite-difference"])
def test_constant_functions_have_none(method):
    got = at(ex.Laplacian(method), lambda x: jnp.ones(2), jnp.zeros((3, 2)))
    np.testing.assert_array_equal(got, np.zeros((3, 2)))


def test_constant_functions_have_none_by_forward_propagation_either():
    got = at(ex.Laplacian("forward"), lambda x: jnp.ones(2), jnp.zeros((3, 2)))
    np.testing.assert_array_equal(got, np.zeros((3, 2)))


@pytest.mark.usefixtures("as_user")
def test_unknown_methods_are_refused_by_name():
    with pytest.raises(ValueError, match="forward, exact, finite-difference; got 'spectral'"):
        ex.Laplacian("spectral")


@pytest.mark.parametrize("step", [0.0, -0.1, float("nan")])
def test_steps_must_be_positive(step):
    with pytest.raises(ValueError, match=f"step must be positive; got {step}"):
        ex.Laplacian("finite-difference", step=step)


def test_wants_functions_that_vanish_at_the_edge_and_leaves_constants_alone():
    assert ex.Laplacian().wants_boundary
    assert not ex.Laplacian().fixes_constants

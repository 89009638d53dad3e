"""Random waves: their formulas, cusps and envelopes, in both precisions, and through a file."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import eigenax as ex
from eigenax.io.serialisation import decode, encode
from eigenax.networks.boundary import BoundaryCoordinates, DirichletFactor
from eigenax.networks.features import Whitened
from eigenax.networks.waves import (
    Cusps,
    ExponentialEnvelopes,
    GaussianEnvelopes,
    Waves,
    cusp_scales,
    random_frequencies,
)

SIZE = 7
BOX = ex.Box([-1.0, 0.0], [2.0, 3.0], boundary=("dirichlet", "periodic"))
ATOMS = ((0.5, 1.0), (-0.3, 2.0))
X = np.random.default_rng(5).uniform(BOX.low, BOX.high, (30, 2))


def whitened():
    rng = np.random.default_rng(1)
    return Whitened(BoundaryCoordinates(BOX), rng.normal(size=3), rng.normal(size=(3, 2)))


def smooth():
    """Waves under Gaussian envelopes."""
    rng, inputs = np.random.default_rng(0), whitened()
    envelopes = GaussianEnvelopes(inputs, rng.normal(size=(SIZE, 2)), rng.uniform(0, 0.5, (SIZE, 2)))
    return Waves(inputs, DirichletFactor(BOX), envelopes, *random_frequencies(rng, SIZE, 2, 0.3, 3.0))


def cusped():
    """Waves of inputs with kinks, under exponential envelopes."""
    rng, inputs = np.random.default_rng(0), Cusps(ATOMS, (0.5, 1.5))
    envelopes = ExponentialEnvelopes(ATOMS, rng.integers(2, size=SIZE), rng.uniform(0.2, 2, SIZE))
    return Waves(inputs, None, envelopes, *random_frequencies(rng, SIZE, inputs.size, 0.5, 4.0))


def plain():
    """Nothing but waves."""
    return Waves(whitened(), None, None, *random_frequencies(np.random.default_rng(0), SIZE, 2, 0.3, 3.0))


def values(function, x=X):
    return np.asarray(jax.jit(jax.vmap(function))(jnp.asarray(x, float)))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("make", [smooth, cusped, plain])
def test_waves_are_factor_times_envelope_times_sine(make):
    waves = make()
    z = values(waves.inputs)
    expected = np.sin(z @ waves.frequencies.T + waves.phases)
    for part in (waves.factor, waves.envelopes):
        if part is not None:
            around = values(part)
            expected *= around if around.ndim == 2 else around[:, None]
    np.testing.assert_allclose(values(waves), expected, rtol=1e-10, atol=1e-13)
    assert expected.shape == (30, SIZE)
    assert waves.separate


@pytest.mark.usefixtures("float64")
def test_whitened_inputs_are_an_affine_map_of_the_coordinates():
    inputs = whitened()
    np.testing.assert_allclose(
        values(inputs), (values(BoundaryCoordinates(BOX)) - inputs.mean) @ inputs.matrix, rtol=1e-12
    )


@pytest.mark.usefixtures("float64")
def test_gaussian_envelopes_have_rates_and_a_centre_each():
    envelopes = smooth().envelopes
    away = values(envelopes.inputs)[:, None] - envelopes.centres
    np.testing.assert_allclose(values(envelopes), np.exp(-(envelopes.rates * away**2).sum(2) / 2), rtol=1e-12)


@pytest.mark.usefixtures("float64")
def test_exponential_envelopes_fall_from_their_own_point():
    envelopes = cusped().envelopes
    r = np.linalg.norm(X[:, None] - np.asarray(ATOMS), axis=-1)
    np.testing.assert_allclose(values(envelopes), np.exp(-envelopes.rates * r[:, envelopes.nearest]), rtol=1e-12)
    assert set(envelopes.nearest.tolist()) == {0, 1}


@pytest.mark.usefixtures("float64")
def test_cusps_are_their_formula():
    inputs, columns = Cusps(ATOMS, (0.5, 1.5)), []
    for point in ATOMS:
        y = X - point
        r = np.linalg.norm(y, axis=1, keepdims=True)
        for scale in inputs.scales:
            columns += [y / np.hypot(scale, r), (r - scale) / (r + scale)]
    np.testing.assert_allclose(values(inputs), np.concatenate(columns, 1), rtol=1e-10, atol=1e-12)
    assert inputs.size == 12


@pytest.mark.usefixtures("float64")
def test_waves_of_cusps_have_a_kink_at_each_singularity_and_nowhere_else():
    waves, direction, step = jax.jit(jax.vmap(cusped())), np.array([0.6, 0.8]), 1e-6

    def slopes(start):
        """One-sided derivatives along a line."""
        before, here, after = waves(jnp.asarray([start - step * direction, start, start + step * direction]))
        return (here - before) / step, (after - here) / step

    for point in ATOMS:
        before, after = slopes(np.asarray(point))
        assert np.isfinite([before, after]).all()
        assert (np.abs(after - before) > 1e-2).sum() >= SIZE - 1
    for point in X[:3]:
        np.testing.assert_allclose(*slopes(point), atol=1e-4)


def test_cusps_are_finite_at_a_singularity_and_far_away():
    inputs = jax.jit(Cusps(ATOMS, (0.5, 1.5)))
    assert np.isfinite(inputs(jnp.asarray(ATOMS[0]))).all()
    np.testing.assert_allclose(np.abs(inputs(jnp.asarray([3e5, 4e5]))).max(), 1, rtol=1e-4)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("make", [smooth, cusped])
def test_waves_have_the_same_laplacian_by_forward_propagation_and_exactly(make):
    waves, batch = make(), ex.Points(jnp.asarray(X[:5]), jnp.ones(5))

    def applied(method):
        operator = ex.Laplacian(method)
        return jax.jit(lambda b: operator.apply(waves, b, jax.vmap(waves)(b.x)))(batch)

    forward, exact = applied("forward"), applied("exact")
    np.testing.assert_allclose(forward, exact, rtol=1e-9, atol=1e-9)
    assert np.abs(exact).max() > 0.1


@pytest.mark.parametrize("make", [smooth, cusped])
def test_single_and_double_precision_agree(make):
    single = jax.jit(jax.vmap(make()))(jnp.asarray(X, jnp.float32))
    with jax.enable_x64(True):
        double = jax.jit(jax.vmap(make()))(jnp.asarray(X))
    assert (single.dtype, double.dtype) == (jnp.float32, jnp.float64)
    np.testing.assert_allclose(single, double, atol=2e-5)


@pytest.mark.parametrize("make", [smooth, cusped])
def test_waves_come_back_from_plain_data_bit_by_bit(make):
    waves, arrays = make(), {}
    description = json.loads(json.dumps(encode(waves, arrays)))
    again = decode(description, arrays)
    before, after = (jax.tree.flatten(module) for module in (waves, again))
    assert before[1] == after[1]
    for a, b in zip(before[0], after[0], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(values(again), values(waves))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("make", [smooth, cusped])
def test_waves_may_be_an_argument_of_a_compiled_function(make):
    waves = make()
    as_argument = eqx.filter_jit(lambda waves, x: jax.vmap(waves)(x))(waves, jnp.asarray(X))
    np.testing.assert_allclose(as_argument, values(waves), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dims", [1, 2, 5])
def test_frequencies_go_in_all_directions_and_are_spread_over_all_scales(dims):
    size, error = 4000, 4.5 / np.sqrt(4000)
    frequencies, phases = random_frequencies(np.random.default_rng(dims), size, dims, 0.2, 5.0)
    lengths = np.linalg.norm(frequencies, axis=1, keepdims=True)
    directions = frequencies / lengths
    np.testing.assert_allclose(directions.mean(0), 0, atol=error)
    np.testing.assert_allclose(directions.T @ directions / size, np.eye(dims) / dims, atol=error)
    octaves = np.log(lengths[:, 0] / 0.2) / np.log(25)
    assert scipy.stats.kstest(octaves, "uniform").pvalue > 0.01
    assert scipy.stats.kstest(phases / (2 * np.pi), "uniform").pvalue > 0.01


@pytest.mark.parametrize(("inner", "outer"), [(1.0, 20.0), (0.1, 0.1), (2.0, 1.0), (0.01, 100.0), (1.0, 27.0)])
def test_scales_of_cusps_are_a_ladder_that_reaches_the_outer_one(inner, outer):
    ladder = np.array(cusp_scales(inner, outer))
    assert ladder[0] == pytest.approx(inner)
    assert ladder[-1] >= outer * (1 - 1e-9)
    assert len(ladder) >= 2
    np.testing.assert_allclose(ladder[1:] / ladder[:-1], 3)
    assert len(ladder) == 2 or ladder[-2] < outer * (1 + 1e-9)

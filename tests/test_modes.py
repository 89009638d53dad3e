"""Modes: values, shapes, signs and slices."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.random_streams import Stream
from eigenax.measurement.on_samples import moments
from eigenax.networks.boundary import BoxFactor
from eigenax.samples import FreshSamples
from eigenax.solvers.default_parts import network_key

BOX = ex.Box([-3, -2], [3, 4])
POINTS = ex.Uniform(BOX)
EACH = ("eigenvalues", "sampling_errors", "basis_errors", "residuals")


def network(n=3):
    inputs = ex.ScaledInputs((0.0, 1.0), (3.0, 3.0))
    return ex.Multiply(
        BoxFactor(BOX.low, BOX.high), ex.Compose(inputs, ex.MLP(2, n, width=12, depth=2, key=network_key(0)))
    )


def hamiltonian():
    return -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))


@pytest.fixture(scope="module")
def modes():
    return ex.measure(network(), hamiltonian(), BOX, samples=2**15)


def test_points_in_any_arrangement_give_values_of_all_modes(modes):
    x = POINTS.sample(jax.random.key(1), 12).x
    values = modes(x)
    assert values.shape == (12, 3)
    np.testing.assert_allclose(modes(x[0]), values[0], atol=1e-4)
    np.testing.assert_allclose(modes(np.asarray(x).reshape(3, 4, 2)), values.reshape(3, 4, 3), atol=1e-4)
    with pytest.raises(ValueError, match=r"shape of a point, \(2,\); got \(4, 3\)"):
        modes(jnp.zeros((4, 3)))


@pytest.mark.parametrize("distance", [1.5, 3.0, 100.0])
def test_far_outside_the_box_modes_are_zero(modes, distance):
    np.testing.assert_array_equal(modes(distance * np.array(BOX.high)), 0)


def test_a_table_shows_residuals_and_marks_what_has_not_converged(modes):
    rows = str(modes).splitlines()
    assert rows[0].split() == ["mode", "eigenvalue", "±", "std.", "err", "residual"]
    np.testing.assert_allclose(float(rows[1].split()[1]), modes.eigenvalues[0], rtol=1e-6)
    assert rows[1].endswith("*")
    assert "take a larger basis" in rows[-1]
    assert "take more steps" in str(dataclasses.replace(modes, stop_reason=ex.StopReason.MAX_STEPS))
    assert repr(modes).endswith(str(modes))
    assert dataclasses.replace(modes, residuals=np.full(3, 1e3)).unconverged.all()
    unknown = np.full(3, np.nan)
    assert dataclasses.replace(modes, residuals=unknown, basis_errors=unknown).unconverged.all()
    assert dataclasses.replace(modes, residuals=np.full(3, 1e-6), basis_errors=np.full(3, 1e3)).unconverged.all()
    settled = dataclasses.replace(modes, residuals=np.full(3, 1e-6), basis_errors=np.full(3, 1e-6))
    assert "*" not in str(settled)


def test_points_on_a_line_need_their_axis():
    line = ex.measure(ex.MLP(1, 1, key=jax.random.key(0)), ex.Potential(lambda x: x[0]), ex.Box(0, 1), samples=512)
    with pytest.raises(ValueError, match=r"give x\[:, None\]"):
        line(np.linspace(0, 1, 5))


def test_modes_are_orthonormal_and_ordered_on_samples_they_never_saw(modes):
    samples = FreshSamples(POINTS, seed=5, purpose=Stream.OVERLAPS, samples=2**16)
    sigma, pi, _ = moments(modes.at_point, hamiltonian(), samples)
    np.testing.assert_allclose(sigma, np.eye(3), atol=0.05)
    np.testing.assert_allclose(np.diag(pi), modes.eigenvalues, rtol=0.05)
    assert (np.diff(modes.eigenvalues) > 0).all()


@pytest.mark.slow
def test_standard_errors_of_evenly_spread_points_are_no_less_than_the_scatter_between_seeds():
    position = ex.Potential(lambda x: x[0])
    runs = [ex.measure(network(1), position, BOX, samples=2**13, seed=seed) for seed in range(24)]
    scatter = np.std([run.eigenvalues[0] for run in runs], ddof=1)
    claimed = np.mean([run.standard_errors[0] for run in runs])
    assert 0.6 < claimed / scatter < 20


def test_residuals_are_the_norm_of_what_is_left(modes):
    samples = FreshSamples(POINTS, seed=7, purpose=Stream.OVERLAPS, samples=2**16)

    def squared(batch):
        v = jax.vmap(modes.at_point)(batch.x)
        left = hamiltonian().apply(modes.at_point, batch, v) - jnp.asarray(modes.eigenvalues, v.dtype) * v
        return (jnp.mean(left**2, 0),)

    expected = np.sqrt(samples.map(squared)[0].mean(0))
    np.testing.assert_allclose(modes.residuals, expected, rtol=0.05)


def test_the_largest_value_of_each_mode_is_positive(modes):
    values = np.asarray(modes(POINTS.sample(jax.random.key(2), 20_000).x))
    assert (values[np.abs(values).argmax(0), np.arange(3)] > 0).all()


def test_standard_errors_are_those_of_sampling_and_of_the_basis_together_without_those_that_are_not_known(modes):
    np.testing.assert_allclose(modes.standard_errors**2, modes.sampling_errors**2 + modes.basis_errors**2, rtol=1e-12)
    some = dataclasses.replace(
        modes, sampling_errors=np.array([3.0, np.nan, np.nan]), basis_errors=np.array([4.0, 2.0, np.nan])
    )
    np.testing.assert_array_equal(some.standard_errors, [5, 2, np.nan])
    assert "nan" in str(some)


def test_a_slice_of_modes_has_the_same_values(modes):
    x = POINTS.sample(jax.random.key(4), 5).x
    np.testing.assert_allclose(modes[1:](x), modes(x)[:, 1:], rtol=1e-5)
    assert modes[1:].n == 2
    for name in EACH:
        np.testing.assert_array_equal(getattr(modes[1:], name), getattr(modes, name)[1:])


def test_no_modes_can_be_shown_too(modes):
    assert repr(modes[3:]).startswith("Modes(n=0")


def test_what_comes_after_a_part_of_them_is_the_next_one(modes):
    assert modes[:1].next_eigenvalue == modes.eigenvalues[1]
    assert modes[1:].next_eigenvalue == modes.next_eigenvalue


@pytest.mark.usefixtures("as_user")
def test_a_single_mode_is_a_slice_too(modes):
    with pytest.raises(TypeError, match="chosen by a slice"):
        modes[1]

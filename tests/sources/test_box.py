"""Uniform points in a box."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex

SIZE = 20_000


@pytest.mark.parametrize(
    ("box", "low", "high"),
    [
        (ex.Box(-1.0, 3.0), [-1], [3]),
        (ex.Box(-50.0, 50.0, dims=2), [-50, -50], [50, 50]),
        (ex.Box([0.0, -1.0, 2.0], [1.0, 1.0, 2.5]), [0, -1, 2], [1, 1, 2.5]),
        (ex.Box([0.0, -1.0], 3.0), [0, -1], [3, 3]),
        (ex.Box(-2.0, [1.0, 4.0], dims=2), [-2, -2], [1, 4]),
    ],
)
def test_bounds_are_numbers_or_one_number_per_axis(box, low, high):
    low, high = np.asarray(low, float), np.asarray(high, float)
    assert box.shape == (len(low),)
    assert box.volume == pytest.approx(np.prod(high - low))
    np.testing.assert_array_equal(box.centre, (low + high) / 2)
    np.testing.assert_array_equal(box.half_width, (high - low) / 2)


def test_points_are_inside_uniform_on_every_axis_and_independent():
    box = ex.Box([-1.0, 0.0, 5.0], [1.0, 10.0, 5.5])
    points = jax.jit(lambda key: box.sample(key, SIZE))(jax.random.key(0))
    np.testing.assert_array_equal(points.weights, np.ones(SIZE))
    np.testing.assert_array_equal(box.contains(points.x), np.ones(SIZE))
    unit = (np.asarray(points.x) - box.low) / (2 * box.half_width)
    assert unit.shape == (SIZE, 3)
    assert ((unit >= 0) & (unit <= 1)).all()
    error = 4.5 / np.sqrt(SIZE)
    np.testing.assert_allclose(unit.mean(0), 1 / 2, atol=error * np.sqrt(1 / 12))
    np.testing.assert_allclose((unit**2).mean(0), 1 / 3, atol=error * np.sqrt(4 / 45))
    np.testing.assert_allclose(np.corrcoef(unit.T), np.eye(3), atol=error)


def test_the_same_key_gives_the_same_batch_and_another_key_another():
    box = ex.Box(-1.0, 1.0, dims=2)
    draw = jax.jit(lambda key: box.sample(key, 10).x)
    first, again, other = (draw(jax.random.key(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


def test_the_density_is_one_over_the_volume_inside_and_zero_outside():
    box = ex.Box([0.0, -2.0], [4.0, 0.5])
    x = jnp.asarray([[1.0, -1.0], [4.0, 0.5], [4.1, 0.0], [1.0, 0.6], [-0.1, -2.1]])
    np.testing.assert_allclose(box.density(x), [0.1, 0.1, 0, 0, 0], rtol=1e-6)
    np.testing.assert_array_equal(box.contains(x), [1, 1, 0, 0, 0])


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0)])
def test_low_must_be_below_high(low, high):
    with pytest.raises(ValueError, match=f"axis 0 has low {low}, high {high}"):
        ex.Box(low, high)
    with pytest.raises(ValueError, match=f"axis 1 has low {low}, high {high}"):
        ex.Box([0.0, low], [5.0, high])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_bounds_must_be_finite(bad):
    with pytest.raises(ValueError, match="finite low < high"):
        ex.Box(bad, 1.0)
    with pytest.raises(ValueError, match="finite low < high"):
        ex.Box(0.0, [1.0, bad])


def test_dimensions_must_agree():
    with pytest.raises(ValueError, match="low has 2 values, but dims is 3"):
        ex.Box([0.0, 0.0], 1.0, dims=3)
    with pytest.raises(ValueError, match="high has 1 values, but dims is 2"):
        ex.Box(0.0, [1.0], dims=2)
    with pytest.raises(ValueError, match="low has 2 axes and high has 3"):
        ex.Box([0.0, 0.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="dims must be at least 1; got 0"):
        ex.Box(0.0, 1.0, dims=0)


@pytest.mark.usefixtures("as_user")
def test_a_matrix_is_no_bound():
    with pytest.raises(ValueError, match=r"one number per axis; got shape \(2, 2\)"):
        ex.Box(np.zeros((2, 2)), 1.0, dims=2)

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


@pytest.mark.parametrize(
    ("boundary", "each"),
    [
        ("zero", ("zero",) * 3),
        ("free", ("free",) * 3),
        ("periodic", ("periodic",) * 3),
        (("zero", "free", "periodic"), ("zero", "free", "periodic")),
        (["periodic", "periodic", "zero"], ("periodic", "periodic", "zero")),
    ],
)
def test_a_boundary_is_one_word_or_one_for_each_axis(boundary, each):
    assert ex.Box(0.0, 1.0, dims=3, boundary=boundary).boundary == each
    assert ex.Box([0.0, 1.0, 2.0], 3.0, boundary=boundary).boundary == each


def test_functions_are_zero_at_the_edge_unless_told_otherwise():
    assert ex.Box(0.0, 1.0, dims=2).boundary == ("zero", "zero")


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("boundary", ["closed", "Zero", "", ("zero", "open"), ("zero", None), (1, "free")])
def test_other_words_are_refused_by_name(boundary):
    wrong = boundary if isinstance(boundary, str) else next(w for w in boundary if w not in {"zero", "free"})
    with pytest.raises(ValueError, match=f"boundary must be 'zero', 'free' or 'periodic'; got {wrong!r}"):
        ex.Box(0.0, 1.0, dims=2, boundary=boundary)


@pytest.mark.parametrize("boundary", [("zero",), ("zero", "free", "zero"), ()])
def test_words_must_be_as_many_as_axes(boundary):
    with pytest.raises(ValueError, match=f"one word, or one for each of 2 axes; got {len(boundary)}"):
        ex.Box(0.0, 1.0, dims=2, boundary=boundary)


def test_the_parts_of_a_spread_fill_the_box_evenly_together():
    box = ex.Box([-1.0, 0.0, 5.0], [1.0, 10.0, 5.5])
    part = jax.jit(lambda key, index: box.spread(key, 512, index))
    parts = [part(jax.random.key(0), jnp.asarray(index)) for index in range(8)]
    together = box.spread(jax.random.key(0), 4096)
    np.testing.assert_allclose(np.concatenate([p.x for p in parts]), together.x, rtol=1e-6)
    np.testing.assert_array_equal(together.weights, np.ones(4096))
    np.testing.assert_array_equal(box.contains(together.x), np.ones(4096))
    unit = (np.asarray(together.x) - box.low) / (2 * box.half_width)
    # Chance would be wrong by about 1 / √4096.
    np.testing.assert_allclose(unit.mean(0), 1 / 2, atol=0.1 / 64)
    np.testing.assert_allclose(unit.T @ unit / 4096, 1 / 4 + np.eye(3) / 12, atol=0.2 / 64)


def test_another_key_shifts_a_spread():
    box = ex.Box(0.0, 1.0, dims=2)
    first, again, other = (np.asarray(box.spread(jax.random.key(seed), 20).x) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    shift = (other - first) % 1
    np.testing.assert_allclose(shift, np.broadcast_to(shift[0], (20, 2)), atol=1e-5)
    assert (first != other).all()


def test_places_go_from_the_low_corner_to_the_high_one():
    box = ex.Box([-1.0, 2.0], [3.0, 2.5])
    assert box.numbers == 2
    got = box.place(jnp.asarray([[0.0, 0.0], [0.5, 0.5], [0.25, 1.0]]))
    np.testing.assert_allclose(got, [[-1, 2], [1, 2.25], [0, 2.5]])

"""Pairs of successive points from clips of a series."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex


def sample(source, size):
    return jax.jit(lambda key: source.sample(key, size))(jax.random.key(0))


TIME = jnp.arange(30, dtype=float)[:, None] * jnp.ones(2)


@pytest.mark.parametrize(("length", "size"), [(2, 7), (30, 3)])
def test_pairs_are_successive_and_never_leave_their_clip(length, size):
    pairs = sample(ex.Clips(TIME, length), size)
    assert pairs.x.shape == (size * length, 2)
    assert pairs.first.shape == pairs.second.shape == (size * (length - 1),)
    time = np.asarray(pairs.x[:, 0])
    np.testing.assert_array_equal(time[pairs.second] - time[pairs.first], 1)
    np.testing.assert_array_equal(pairs.first // length, pairs.second // length)
    np.testing.assert_array_equal(pairs.second - pairs.first, 1)
    assert len(set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))) == size * (length - 1)
    np.testing.assert_array_equal(pairs.pair_weights, 1)


def test_clips_start_anywhere_that_leaves_room_for_them():
    pairs = sample(ex.Clips(TIME, length=25), 600)
    starts = np.asarray(pairs.x[:, 0]).reshape(600, 25)[:, 0]
    counts = np.bincount(starts.astype(int))
    assert len(counts) == 6
    np.testing.assert_allclose(counts, 100, atol=4.5 * np.sqrt(100))


def test_weights_of_points_count_the_pairs_they_stand_in():
    weights = np.asarray(sample(ex.Clips(TIME, length=4), 3).weights).reshape(3, 4)
    np.testing.assert_allclose(weights, np.tile([2 / 3, 4 / 3, 4 / 3, 2 / 3], (3, 1)), rtol=1e-6)


def test_series_of_images_keep_their_shape():
    source = ex.Clips(jnp.zeros((12, 2, 8, 8)), length=3)
    assert source.shape == (2, 8, 8)
    assert sample(source, 2).x.shape == (6, 2, 8, 8)
    assert source.draws is ex.Pairs


def test_the_same_key_gives_the_same_batch_and_another_key_another():
    source = ex.Clips(TIME, 3)
    draw = jax.jit(lambda key: source.sample(key, 20))
    first, again, other = (draw(jax.random.key(seed)) for seed in (0, 0, 1))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert (first.x != other.x).any()


@pytest.mark.parametrize("length", [1, 0, -3])
def test_a_clip_has_at_least_one_pair(length):
    with pytest.raises(ValueError, match=f"at least 2, one pair of points; got {length}"):
        ex.Clips(TIME, length)


@pytest.mark.parametrize(("series", "shape"), [(TIME[:9], r"\(9, 2\)"), (TIME[:, 0], r"\(30,\)")])
def test_a_series_must_hold_a_clip(series, shape):
    with pytest.raises(ValueError, match=rf"at least length = 10 points; got shape {shape}"):
        ex.Clips(series, length=10)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
def test_a_series_must_be_finite(bad):
    with pytest.raises(ValueError, match="NaN or infinity"):
        ex.Clips(TIME.at[4, 0].set(bad))


@pytest.mark.usefixtures("as_user")
def test_length_must_be_a_whole_number():
    with pytest.raises(ValueError, match="length must be a whole number"):
        ex.Clips(np.ones((30, 2)), length=2.5)

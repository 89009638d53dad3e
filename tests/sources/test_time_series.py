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
    pairs = sample(ex.TimeSeries(TIME, length), size)
    assert pairs.x.shape == (size * length, 2)
    assert pairs.first.shape == pairs.second.shape == (size * (length - 1),)
    time = np.asarray(pairs.x[:, 0])
    np.testing.assert_array_equal(time[pairs.second] - time[pairs.first], 1)
    np.testing.assert_array_equal(pairs.first // length, pairs.second // length)
    np.testing.assert_array_equal(pairs.second - pairs.first, 1)
    assert len(set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))) == size * (length - 1)
    np.testing.assert_array_equal(pairs.pair_weights, 1)


def test_clips_start_anywhere_that_leaves_room_for_them():
    pairs = sample(ex.TimeSeries(TIME, length=25), 600)
    starts = np.asarray(pairs.x[:, 0]).reshape(600, 25)[:, 0]
    counts = np.bincount(starts.astype(int))
    assert len(counts) == 6
    np.testing.assert_allclose(counts, 100, atol=4.5 * np.sqrt(100))


def test_weights_of_points_count_the_pairs_they_stand_in():
    weights = np.asarray(sample(ex.TimeSeries(TIME, length=4), 3).weights).reshape(3, 4)
    np.testing.assert_allclose(weights, np.tile([2 / 3, 4 / 3, 4 / 3, 2 / 3], (3, 1)), rtol=1e-6)


def test_series_of_images_keep_their_shape():
    source = ex.TimeSeries(jnp.zeros((12, 2, 8, 8)), length=3)
    assert source.shape == (2, 8, 8)
    assert sample(source, 2).x.shape == (6, 2, 8, 8)
    assert source.draws is ex.Pairs


def test_the_same_key_gives_the_same_batch_and_another_key_another():
    source = ex.TimeSeries(TIME, 3)
    draw = jax.jit(lambda key: source.sample(key, 20))
    first, again, other = (draw(jax.random.key(seed)) for seed in (0, 0, 1))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert (first.x != other.x).any()


@pytest.mark.parametrize("length", [1, 0, -3])
def test_a_clip_has_at_least_one_pair(length):
    with pytest.raises(ValueError, match=f"at least 2, one pair of points; got {length}"):
        ex.TimeSeries(TIME, length)


@pytest.mark.parametrize(("series", "shape"), [(TIME[:9], r"\(9, 2\)"), (TIME[:, 0], r"\(30,\)")])
def test_a_series_must_hold_a_clip(series, shape):
    with pytest.raises(ValueError, match=rf"at least 10 rows, for length = 10 points; got shape {shape}"):
        ex.TimeSeries(series, length=10)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf])
def test_a_series_must_be_finite(bad):
    with pytest.raises(ValueError, match="NaN or infinity"):
        ex.TimeSeries(TIME.at[4, 0].set(bad))


@pytest.mark.usefixtures("as_user")
def test_length_must_be_a_whole_number():
    with pytest.raises(ValueError, match="length must be a whole number"):
        ex.TimeSeries(np.ones((30, 2)), length=2.5)


def numbered(rows, first=0):
    return np.arange(first, first + rows, dtype=np.float32)[:, None]


def test_pairs_never_cross_the_end_of_an_episode():
    pairs = sample(ex.TimeSeries([numbered(12), numbered(30, 100), numbered(11, 200)], length=10, n_stack=2), 500)
    values = np.asarray(pairs.x)
    np.testing.assert_array_equal(values[:, 1] - values[:, 0], 1)
    np.testing.assert_array_equal(values[pairs.second, 0] - values[pairs.first, 0], 1)
    starts = values.reshape(500, 10, 2)[:, 0, 0]
    assert set(starts.tolist()) == {0, 1, *range(100, 120), 200}


def test_every_clip_of_every_episode_is_as_likely():
    starts = np.asarray(sample(ex.TimeSeries([numbered(6), numbered(14, 50)], length=5), 6000).x[::5, 0])
    counts = np.unique(starts, return_counts=True)[1]
    assert len(counts) == 2 + 10
    np.testing.assert_allclose(counts, 500, atol=4.5 * np.sqrt(500))


def test_frames_join_the_channels_of_images():
    images = np.arange(8 * 3 * 2 * 2, dtype=np.uint8).reshape(8, 3, 2, 2)
    source = ex.TimeSeries(images, length=3, n_stack=2)
    assert source.shape == (6, 2, 2)
    assert source.points.data.dtype == np.uint8
    x = np.asarray(sample(source, 1).x)
    start = np.flatnonzero(images[:, 0, 0, 0] == x[0, 0, 0, 0])[0]
    for point in range(3):
        np.testing.assert_array_equal(x[point], np.concatenate(images[start + point : start + point + 2]))


def test_a_view_turns_rows_into_what_is_seen():
    source = ex.TimeSeries(numbered(20), length=4, n_stack=2, view=lambda row: row[0] * jnp.ones((3, 5)))
    assert source.shape == (2, 3, 5)
    x = np.asarray(sample(source, 2).x)
    np.testing.assert_array_equal(x[:, 1] - x[:, 0], 1)


def test_files_that_are_mapped_give_the_batches_of_arrays_in_memory(tmp_path):
    parts = [
        np.random.default_rng(n).integers(0, 255, (rows, 4, 4)).astype(np.uint8) for n, rows in enumerate((20, 33))
    ]
    for number, part in enumerate(parts):
        np.save(tmp_path / f"{number}.npy", part)
    mapped = [np.load(tmp_path / f"{number}.npy", mmap_mode="r") for number in range(2)]
    held, read = ex.TimeSeries(parts, 6, n_stack=2), ex.TimeSeries(mapped, 6, n_stack=2)
    assert not jax.tree.leaves(read.points), "a mapped file must not be in the memory of the device"
    for got, expected in zip(sample(read, 40), sample(held, 40), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_file_larger_than_what_is_free_is_only_read_where_it_is_drawn(tmp_path):
    rows = 2**40 // 4096  # a terabyte of frames, none of which is on the disk
    sparse = np.lib.format.open_memmap(tmp_path / "huge.npy", "w+", np.uint8, (rows, 64, 64))
    sparse[-1] = 255
    pairs = sample(ex.TimeSeries(np.load(tmp_path / "huge.npy", mmap_mode="r"), 10, n_stack=2), 24)
    assert pairs.x.shape == (240, 2, 64, 64)
    assert float(pairs.x.max()) == 0


def test_slowness_is_trained_on_mapped_files(tmp_path):
    t = np.arange(3000)
    series = np.stack([np.sin(t / 40) + np.sin(t / 2), np.sin(t / 2)], 1).astype(np.float32)
    np.save(tmp_path / "series.npy", series)
    source = ex.TimeSeries(np.load(tmp_path / "series.npy", mmap_mode="r"))
    assert ex.AutoSolver().resolved(ex.Problem.checked(ex.Slowness(), source, 2)).name == "SpIN"
    slow = ex.solve(ex.Slowness(), source, n=2, solver=ex.SpIN(samples=512), max_steps=200, progress=False)
    assert abs(np.corrcoef(np.asarray(slow(series))[:, 1], np.sin(t / 40))[0, 1]) > 0.99


def test_mapped_files_of_any_kind_of_number_are_read(tmp_path):
    for number, kind in enumerate((np.float64, np.int64, ">f4", np.bool_)):
        np.save(tmp_path / f"{number}.npy", (np.arange(40).reshape(20, 2) % 2).astype(kind))
    mapped = [np.load(tmp_path / f"{number}.npy", mmap_mode="r") for number in range(4)]
    for part in (*([one] for one in mapped), mapped, [mapped[0], np.ones((20, 2), np.uint8)]):
        x = np.asarray(sample(ex.TimeSeries(part, 4), 50).x)
        assert set(np.unique(x)) <= {0.0, 1.0}
        assert x.max() == 1


def test_mapped_files_must_be_finite(tmp_path):
    series = np.ones((100, 2), np.float32)
    series[70, 1] = np.nan
    np.save(tmp_path / "series.npy", series)
    with pytest.raises(ValueError, match="series 0 contains NaN or infinity"):
        ex.TimeSeries(np.load(tmp_path / "series.npy", mmap_mode="r"))


@pytest.mark.parametrize(
    ("series", "said"),
    [
        ([], "empty list"),
        ([np.ones((30, 2)), np.ones((30, 3))], r"episode 0 has \(2,\) and episode 1 has \(3,\)"),
        ([np.ones((30, 2)), np.ones((1, 2))], "episode 1 must be an array .* of at least 2 rows"),
    ],
)
def test_episodes_must_be_alike_and_long_enough(series, said):
    with pytest.raises(ValueError, match=said):
        ex.TimeSeries(series)


def test_clips_of_short_episodes_are_as_long_as_these():
    episodes = [np.random.default_rng(k).normal(size=(6, 2)).cumsum(0) for k in range(40)]
    assert ex.TimeSeries(episodes).length == 6
    assert ex.TimeSeries(np.zeros((50, 2))).length == 10
    modes = ex.solve(ex.Slowness(), episodes, 3, progress=False)
    assert modes.solver == "RayleighRitz"


def test_the_end_of_each_episode_is_held_out():
    long, short = np.arange(100.0)[:, None], 1000 + np.arange(8.0)[:, None]
    clips = ex.TimeSeries([long, short], 5, held_out=0.2)
    assert (np.unique(np.asarray(sample(clips, 500).x)) == [*range(80), *range(1000, 1008)]).all()  # one row is no pair
    assert (np.unique(np.asarray(sample(clips.held_out, 500).x)) == np.arange(80, 100)).all()
    assert clips.held_out.length == 5
    assert ex.TimeSeries(long, 30, held_out=0.2).held_out.length == 20
    assert ex.TimeSeries(long).held_out is None


@pytest.mark.parametrize(
    ("share", "said"), [(1.0, "a share of each episode"), (True, "a share"), (0.01, "less than 2 rows of any episode")]
)
def test_a_share_that_holds_nothing_out_is_refused(share, said):
    with pytest.raises(ValueError, match=said):
        ex.TimeSeries(np.zeros((100, 2)), held_out=share)

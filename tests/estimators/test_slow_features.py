"""The scikit-learn front: its own checks, and the driving force of a chaotic series."""

import functools
import pickle

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import eigenax as ex
from eigenax.bases import random_waves
from eigenax.errors import RunError
from eigenax.estimators import SlowFeatureAnalysis
from eigenax.lab.baselines.linear_sfa import slow_directions
from eigenax.lab.datasets.logistic_map import driven_logistic_map
from eigenax.networks.mlp import MLP


@parametrize_with_checks([SlowFeatureAnalysis(random_state=0)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def windows_of_a_driven_map(rows, noise, window):
    """Windows of the series, and the drive in the middle of each."""
    series, drive = driven_logistic_map(rows, noise=noise, seed=1)
    windows = np.lib.stride_tricks.sliding_window_view(series, window)
    return windows, drive[window // 2 :][: len(windows)]


def correlation(first, second):
    return abs(np.corrcoef(first, second)[0, 1])


# With noise two ratios tell too little; windows of ten rows are in test_golden.py.
@pytest.mark.parametrize(("noise", "window"), [(0.0, 3), (0.01, 5)])
def test_the_hidden_drive_of_a_chaotic_series_is_found_where_linear_features_fail(noise, window):
    rows, drive = windows_of_a_driven_map(4000, noise, window)
    seen = 3000
    slow = SlowFeatureAnalysis(random_state=0).fit(rows[:seen])
    assert correlation(slow.transform(rows[seen:])[:, 0], drive[seen:]) >= 0.98
    linear = slow_directions(rows[:seen], 1)(rows[seen:])
    assert correlation(np.asarray(linear)[:, 0], drive[seen:]) < 0.9


def mixture(rows=2000, seed=0):
    t = np.arange(rows)
    sources = np.stack([np.sin(t / 50), np.sin(t / 3), np.sin(t / 1.3)], 1)
    return sources @ np.random.default_rng(seed).normal(size=(3, 3)), sources[:, 0]


@functools.cache
def of_mixture(n):
    """Fitted to rows of a mixture, to be left as it is."""
    return SlowFeatureAnalysis(n, random_state=0).fit(mixture()[0])


def test_features_are_ordered_uncorrelated_and_of_variance_one():
    rows, _ = mixture()
    slow = of_mixture(3)
    features = slow.transform(rows)
    counts = np.r_[0.5, np.ones(len(rows) - 2), 0.5] / (len(rows) - 1)  # once for each pair that a row is in
    np.testing.assert_allclose(counts @ features, 0, atol=1e-4)
    np.testing.assert_allclose(features.T @ (counts[:, None] * features), np.eye(3), atol=1e-3)
    assert (np.diff(slow.delta_values_) > 0).all()
    np.testing.assert_allclose(slow.delta_values_, slow.modes_.eigenvalues, rtol=1e-2)


def test_pairs_never_cross_the_end_of_an_episode():
    rng = np.random.default_rng(0)
    levels = rng.normal(size=40)
    episodes = [
        level + 0.3 * rng.normal(size=(n, 1)) for level, n in zip(levels, rng.integers(20, 60, 40), strict=True)
    ]
    slow = SlowFeatureAnalysis(1, random_state=0).fit(episodes)
    # Within an episode nothing is slow, but the mean over it never changes: jumps between episodes are not seen. The
    # rows as they are have .272 within and .314 across; functions of less than that follow the noise of these levels.
    across = SlowFeatureAnalysis(1, random_state=0).fit(np.concatenate(episodes))
    assert slow.modes_.training_eigenvalues[0] < 0.9 * across.modes_.training_eigenvalues[0]
    assert slow.transform([episodes[0]]).shape == (len(episodes[0]), 1)
    assert slow.transform(episodes).shape == (sum(map(len, episodes)), 1)


def test_it_goes_on_learning_from_chunks_and_does_not_forget():
    rows, source = mixture(6000)
    episodes = np.split(rows, np.flatnonzero(np.diff(source > 0)) + 1)[1:]
    chunks = episodes[::2], episodes[1::2]  # what is slow is positive in one and negative in the other
    slow = SlowFeatureAnalysis(1, random_state=0)
    for chunk in chunks:
        slow.partial_fit(list(chunk))
    assert correlation(slow.transform(rows)[:, 0], source) > 0.99
    again = SlowFeatureAnalysis(1, random_state=0).fit(list(chunks[0])).partial_fit(list(chunks[1]))
    np.testing.assert_array_equal(again.transform(rows), slow.transform(rows))
    alone = SlowFeatureAnalysis(1, random_state=0).fit(list(chunks[1]))
    assert not np.allclose(alone.transform(rows), slow.transform(rows), atol=1e-3)


def test_what_is_remembered_is_a_copy_and_has_a_limit():
    buffer = np.empty((500, 2))
    slow = SlowFeatureAnalysis(1, random_state=0)
    for seed in range(3):
        buffer[:] = np.random.default_rng(seed).normal(size=(500, 2))
        slow.partial_fit(buffer)
    assert not any(np.shares_memory(clip, buffer) for clip in slow._memory)
    assert sum(map(len, slow._memory)) == 1500


def test_constant_columns_tell_nothing_and_harm_nothing():
    rows, source = mixture()
    for constant in (0.0, 0.1, 5.0):
        padded = np.column_stack([rows, np.full(len(rows), constant)])
        features = SlowFeatureAnalysis(1, random_state=0).fit_transform(padded)
        assert correlation(features[:, 0], source) > 0.99


def test_more_features_than_the_first_waves_are_many():
    rows = np.random.default_rng(0).normal(size=(1500, 20))
    assert SlowFeatureAnalysis(270, random_state=0).fit_transform(rows).shape == (1500, 270)


def moving_bar(frames, size=12):
    t = np.arange(frames)
    middle = size / 2 + size / 3 * np.sin(t / 12)
    bar = np.exp(-((np.arange(size) - middle[:, None]) ** 2) / 4)[:, None, :] * np.ones((1, size, 1))
    return (200 * bar + 40 * np.random.default_rng(0).random((frames, size, size))).astype(np.uint8), np.sin(t / 12)


def test_images_are_taken_two_by_two_by_a_convolution(tmp_path):
    frames, where = moving_bar(300)
    slow = SlowFeatureAnalysis(1, steps=60, clips=8, random_state=0).fit(frames)
    assert slow.modes_.shape == (2, 12, 12)
    features = slow.transform(frames)
    assert features.shape == (300, 1)
    assert correlation(features[:, 0], where) > 0.9
    apart = np.abs(slow.delta_values_ - slow.modes_.training_eigenvalues)
    assert (apart > 0).all()
    assert (apart <= slow.modes_.standard_errors).all()
    slow.save(tmp_path / "slow.safetensors")
    again = SlowFeatureAnalysis.load(tmp_path / "slow.safetensors")
    np.testing.assert_array_equal(again.transform(frames), features)
    with pytest.raises(ValueError, match=r"rows of shape \(144,\), but this was fitted on \(12, 12\)"):
        again.transform(frames.reshape(300, -1))


@pytest.mark.parametrize(
    ("rows", "share", "pairs"),
    [(300, None, 35), (300, 0.5, 148), (300, 0, 0), (100, None, 0), ([20] * 30, None, 0), ([24] * 10, None, 10)],
)
def test_the_end_of_a_film_judges_its_training_unless_it_is_short(rows, share, pairs):
    films = [moving_bar(count)[0] for count in np.atleast_1d(rows)]
    slow = SlowFeatureAnalysis(1, held_out=share)
    source = slow._source(slow._validated(films, reset=True), trains=True)
    apart = [] if source.held_out is None else [float(batch.pair_weights.sum()) for batch in source.held_out.in_order]
    assert sum(apart) == pairs


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ValueError, match="held_out must be a share of each episode"):
        SlowFeatureAnalysis(1, held_out=1.5, random_state=0).fit(moving_bar(40)[0])


class Quadratic(eqx.Module):
    weights: jax.Array

    def __call__(self, x):
        return self.weights @ x**2


def test_few_images_are_measured_on_as_many_clips_as_it_takes():
    images = np.random.default_rng(0).normal(size=(12, 8, 8)).cumsum(0)
    few = SlowFeatureAnalysis(n_components=2, steps=2, clips=4, random_state=0).fit(images)
    assert few.transform(images).shape == (12, 2)


def test_a_network_can_be_given():
    t = np.arange(3000)
    rows = np.stack([np.sqrt(2 + np.sin(t / 50)) * np.sign(np.cos(1.7 * t)), np.sin(t / 2)], 1)
    network = Quadratic(jnp.array([[1.0, 0.5]]))
    slow = SlowFeatureAnalysis(1, network=network, steps=1500, random_state=0).fit(rows)
    assert correlation(slow.transform(rows)[:, 0], np.sin(t / 50)) > 0.99


def test_it_is_saved_and_loaded_without_pickle(tmp_path):
    rows, slow = mixture()[0], of_mixture(2)
    slow.save(tmp_path / "slow.safetensors")
    again = SlowFeatureAnalysis.load(tmp_path / "slow.safetensors")
    np.testing.assert_array_equal(again.transform(rows), slow.transform(rows))
    assert again.get_params() == slow.get_params()
    assert (again.n_features_in_, again.delta_values_.tolist()) == (3, slow.delta_values_.tolist())
    with pytest.raises(ValueError, match="features"):
        again.transform(rows[:, :2])
    (tmp_path / "other.safetensors").write_bytes(b"nothing")
    with pytest.raises(RunError, match="damaged"):
        SlowFeatureAnalysis.load(tmp_path / "other.safetensors")


def test_names_of_columns_and_a_network_of_the_librarys_are_saved_too(tmp_path):
    rows = np.asarray(mixture()[0])
    network = MLP(3, 1, width=8, depth=1, sparsity="none", key=jax.random.key(0))
    slow = SlowFeatureAnalysis(1, network=network, steps=20, random_state=0).fit(rows)
    slow.feature_names_in_ = np.array(["a", "b", "c"], object)  # as a data frame leaves them
    slow.save(tmp_path / "slow.safetensors")
    again = SlowFeatureAnalysis.load(tmp_path / "slow.safetensors")
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert eqx.tree_equal(again.network, network)


def test_episodes_too_short_to_hold_out_are_still_learned_from():
    t = np.arange(1560)
    rows = np.stack([np.sin(t / 50), np.sin(t / 3), np.cos(t / 3)], 1) @ np.random.default_rng(1).normal(size=(3, 3))
    episodes = [rows[:60], *rows[60:].reshape(300, 5, 3)]
    slow = SlowFeatureAnalysis(45, random_state=0).fit(episodes)  # more than 60 rows can tell apart
    assert correlation(slow.transform(rows)[:, 0], np.sin(t / 50)) > 0.95


def test_a_part_that_never_changes_chooses_nothing(recwarn):
    rows, source = mixture()
    still = np.concatenate([rows, np.repeat(rows[-1:], 1200, 0)])
    slow = SlowFeatureAnalysis(1, random_state=0).fit(still)
    assert correlation(slow.transform(rows)[:, 0], source) > 0.9
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


def test_pieces_make_no_difference(monkeypatch):
    rows, together = mixture()[0], of_mixture(2)
    monkeypatch.setattr(random_waves, "PIECE", 300)
    apart = SlowFeatureAnalysis(2, random_state=0).fit([rows])
    np.testing.assert_allclose(apart.delta_values_, together.delta_values_, rtol=1e-6)
    np.testing.assert_allclose(apart.transform(rows), together.transform(rows), atol=1e-4)


def test_the_same_state_gives_the_same_bits_and_it_works_in_a_pipeline():
    rows, source = mixture()
    first, again = (SlowFeatureAnalysis(1, random_state=3).fit_transform(rows) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    pipeline = make_pipeline(StandardScaler(), SlowFeatureAnalysis(1, random_state=0)).fit(rows)
    assert correlation(pipeline.transform(rows)[:, 0], source) > 0.99
    pickle.loads(pickle.dumps(pipeline)).transform(rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([np.ones((30, 2)), np.ones((30, 3))], r"episode 0 has \(2,\) and episode 1 has \(3,\)"),
        (np.ones((40, 5)), "every row of the series is the same"),
        ([np.full((30, 2), np.nan)], "episode 0 contains NaN"),
        (np.full((30, 8, 8), np.nan), "contains NaN"),
        (np.ones((30, 8, 8)), "every row of X is the same"),
        (np.arange(30 * 8 * 8 * 3.0).reshape(30, 8, 8, 3), r"X.transpose\(0, 3, 1, 2\)"),
        (np.full((30, 8, 8), "a"), "X must hold numbers"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(rows, said):
    with pytest.raises((ValueError, RuntimeError), match=said):
        SlowFeatureAnalysis(random_state=0).fit(rows)


def test_more_components_than_can_be_told_apart_are_refused_by_name():
    series = np.random.default_rng(0).normal(size=(300, 1))
    with pytest.raises(ValueError, match="n_components = 250 is too many"):
        SlowFeatureAnalysis(250, random_state=0).fit(series)
    with pytest.raises(ValueError, match="n_components must be less than the number of points, 29; got 29"):
        SlowFeatureAnalysis(29, random_state=0).fit(series.reshape(30, 2, 5))


def test_few_rows_are_called_few():
    with pytest.warns(UserWarning, match="no part of 12 rows in 1 episodes is long enough"):
        SlowFeatureAnalysis(1, random_state=0).fit(np.random.default_rng(0).normal(size=(12, 2)))


def test_it_must_be_fitted_first():
    with pytest.raises(NotFittedError):
        SlowFeatureAnalysis().transform(np.ones((3, 2)))


def test_modes_of_rows_are_modes():
    rows, modes = mixture()[0], of_mixture(2).modes_
    assert isinstance(modes, ex.Modes)
    np.testing.assert_allclose(np.asarray(modes(rows[:5])).shape, (5, 2))
    assert (modes.standard_errors > 0).all()

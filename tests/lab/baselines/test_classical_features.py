"""Classical features of one video, measured on another, against closed forms."""

import numpy as np

from eigenax.lab.baselines.by_pieces import of_rows
from eigenax.lab.baselines.classical_features import Video, classical_features
from eigenax.lab.baselines.linear_sfa import slow_directions
from eigenax.lab.scores.slowness import delta_values
from eigenax.networks.base import Compose

TIME = np.arange(4000)
SLOW, FAST = np.sin(TIME / 60), np.sin(TIME / 2.3)


def mixed(columns=5, seed=0):
    mixing = np.random.default_rng(seed).normal(size=(2, columns))
    return np.stack([SLOW, FAST], 1) @ mixing


def test_all_ways_are_measured_on_another_video():
    rows = np.concatenate([mixed(6), mixed(6, 1) * 0], 1)  # columns without variance tell nothing, and harm nothing
    found = classical_features(Video.of([rows[:3000]], 1), Video.of([rows[3000:]], 1), 2)
    exact = delta_values([np.stack([SLOW, FAST], 1)[3000:]])
    np.testing.assert_allclose(found["linear SFA"].slowness, exact, rtol=0.02)
    assert found["quadratic SFA"].slowness[0] <= 1.05 * exact[0]
    assert (found["PCA"].slowness >= exact[0]).all()
    for way in found.values():  # as functions of one point
        values = of_rows(Compose(way.components, way.after), rows[3000:])
        np.testing.assert_allclose(delta_values([values]), way.slowness, rtol=1e-3)


def test_no_step_crosses_the_end_of_an_episode():
    rows = mixed() + np.repeat([0.0, 30.0, -40.0, 10.0], 1000)[:, None]
    episodes, other = np.split(rows, 4), [mixed()]
    apart = classical_features(Video.of(episodes, 2), Video.of(other, 2), 2)["linear SFA"]
    video = Video.of(episodes, 2)
    assert np.flatnonzero(video.begins).tolist() == [0, 999, 1998, 2997]
    np.testing.assert_allclose(
        video.look(np.array([998, 999])), [rows[[998, 999]].ravel(), rows[[1000, 1001]].ravel()], rtol=1e-5
    )
    assert apart.slowness[0] < 0.01


def test_how_many_components_are_combined_is_chosen_by_the_video():
    rng = np.random.default_rng(0)
    few = np.stack([np.sin(np.arange(600) / 40), np.cos(np.arange(600) / 31)], 1) @ rng.normal(size=(2, 150)) * 3
    rows = few + rng.normal(size=(600, 150))  # in 200 rows, all 150 have slow combinations by chance
    found = classical_features(Video.of([rows[:200]], 1), Video.of([rows[200:]], 1), 2)["linear SFA"].slowness
    all_of_them = delta_values([np.asarray(slow_directions(rows[:200], 2)(rows[200:]))])
    assert found.sum() < 0.5 * all_of_them.sum()


def test_more_features_than_can_be_told_apart_are_not_numbers():
    rows = np.random.default_rng(0).normal(size=(3000, 12)).cumsum(0)
    found = classical_features(Video.of([rows[:2000]], 1), Video.of([rows[2000:]], 1), 80)
    assert np.isnan(found["linear SFA"].slowness[12:]).all()
    assert np.isfinite(found["linear SFA"].slowness[:12]).all()
    assert np.isfinite(found["quadratic SFA"].slowness).all()  # the 90 products of all 12, not the 65 of the first 10

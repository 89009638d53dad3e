"""Classical slow feature analysis against closed forms and scikit-learn's way of whitening."""

import numpy as np

from eigenax.lab.baselines import linear_sfa
from eigenax.lab.baselines.linear_sfa import (
    Video,
    classical_features,
    moments_of,
    of_rows,
    principal_components,
    slow_directions,
)
from eigenax.lab.scores.slowness import delta_values
from eigenax.networks.base import Compose
from eigenax.networks.features import Products

TIME = np.arange(4000)
SLOW, FAST = np.sin(TIME / 60), np.sin(TIME / 2.3)


def mixed(columns=5, seed=0):
    mixing = np.random.default_rng(seed).normal(size=(2, columns))
    return np.stack([SLOW, FAST], 1) @ mixing


def test_principal_components_are_those_of_a_singular_value_decomposition():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 40)) * np.linspace(5, 0.5, 40)
    found = principal_components(rows, 4)
    exact = np.linalg.svd(rows - rows.mean(0))[2][:4]
    np.testing.assert_allclose(np.abs(np.sum(found.matrix.T * exact, 1)), 1, atol=1e-3)


def test_the_slow_source_of_a_mixture_is_found_first():
    rows = mixed()
    features = slow_directions(rows, 2)(rows)
    assert abs(np.corrcoef(features[:, 0], SLOW)[0, 1]) > 0.9999
    assert abs(np.corrcoef(features[:, 1], FAST)[0, 1]) > 0.9999
    np.testing.assert_allclose(features.var(0), 1, rtol=1e-2)


def test_slowness_of_a_sine_is_its_closed_form():
    found = delta_values([SLOW[:, None], FAST[:, None]])
    values = np.concatenate([SLOW, FAST])
    changes = np.concatenate([np.diff(SLOW), np.diff(FAST)])
    np.testing.assert_allclose(found, np.mean(changes**2) / values.var())
    np.testing.assert_allclose(delta_values([FAST[:, None]]), 4 * np.sin(1 / 4.6) ** 2, rtol=1e-2)


def test_the_product_of_two_sources_needs_the_quadratic_expansion():
    carrier = np.sign(np.sin(TIME * 1.7))
    rows = np.stack([SLOW * carrier, carrier], 1)  # slow in no linear combination
    assert delta_values([np.asarray(slow_directions(rows, 1)(rows))])[0] > 0.5
    features = moments_of(rows, TIME == 0, Products()).slowest(1)(of_rows(Products(), rows))
    assert abs(np.corrcoef(features[:, 0], SLOW)[0, 1]) > 0.999


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
    changes = np.concatenate([np.diff(one, axis=0) for one in episodes])
    np.testing.assert_allclose(moments_of(rows, TIME % 1000 == 0).pi, changes.T @ changes / len(changes), rtol=1e-4)
    assert apart.slowness[0] < 0.01


def test_how_many_components_are_combined_is_chosen_by_the_video():
    rng = np.random.default_rng(0)
    few = np.stack([np.sin(np.arange(600) / 40), np.cos(np.arange(600) / 31)], 1) @ rng.normal(size=(2, 150)) * 3
    rows = few + rng.normal(size=(600, 150))  # in 200 rows, all 150 have slow combinations by chance
    found = classical_features(Video.of([rows[:200]], 1), Video.of([rows[200:]], 1), 2)["linear SFA"].slowness
    all_of_them = delta_values([np.asarray(slow_directions(rows[:200], 2)(rows[200:]))])
    assert found.sum() < 0.5 * all_of_them.sum()


def test_pieces_make_no_difference(monkeypatch):
    rows = mixed(6)
    together = moments_of(rows, TIME == 0, Products()).slowest(2)
    monkeypatch.setattr(linear_sfa, "PIECE", 700)
    apart = moments_of(rows, TIME == 0, Products()).slowest(2)
    both = [np.asarray(found(of_rows(Products(), rows))) for found in (together, apart)]
    np.testing.assert_allclose(np.abs(np.sum(both[0] * both[1], 0)) / len(rows), 1, rtol=1e-3)
    np.testing.assert_allclose(of_rows(Compose(Products(), apart), rows), both[1], rtol=1e-4, atol=1e-4)


def test_more_features_than_can_be_told_apart_are_not_numbers():
    rows = np.random.default_rng(0).normal(size=(3000, 12)).cumsum(0)
    found = classical_features(Video.of([rows[:2000]], 1), Video.of([rows[2000:]], 1), 80)
    assert np.isnan(found["linear SFA"].slowness[12:]).all()
    assert np.isfinite(found["linear SFA"].slowness[:12]).all()
    assert np.isfinite(found["quadratic SFA"].slowness).all()  # the 90 products of all 12, not the 65 of the first 10

"""Linear slow feature analysis against closed forms."""

import numpy as np

from eigenax.lab.baselines import by_pieces, linear_sfa
from eigenax.lab.baselines.by_pieces import of_rows
from eigenax.lab.baselines.linear_sfa import moments_of, slow_directions
from eigenax.lab.scores.slowness import delta_values
from eigenax.networks.base import Compose
from eigenax.networks.features import Products

TIME = np.arange(4000)
SLOW, FAST = np.sin(TIME / 60), np.sin(TIME / 2.3)


def mixed(columns=5, seed=0):
    mixing = np.random.default_rng(seed).normal(size=(2, columns))
    return np.stack([SLOW, FAST], 1) @ mixing


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


def test_no_step_crosses_the_end_of_an_episode():
    rows = mixed() + np.repeat([0.0, 30.0, -40.0, 10.0], 1000)[:, None]
    changes = np.concatenate([np.diff(one, axis=0) for one in np.split(rows, 4)])
    np.testing.assert_allclose(moments_of(rows, TIME % 1000 == 0).pi, changes.T @ changes / len(changes), rtol=1e-4)


def test_pieces_make_no_difference(monkeypatch):
    rows = mixed(6)
    together = moments_of(rows, TIME == 0, Products()).slowest(2)
    monkeypatch.setattr(linear_sfa, "PIECE", 700)
    monkeypatch.setattr(by_pieces, "PIECE", 700)
    apart = moments_of(rows, TIME == 0, Products()).slowest(2)
    both = [np.asarray(found(of_rows(Products(), rows))) for found in (together, apart)]
    np.testing.assert_allclose(np.abs(np.sum(both[0] * both[1], 0)) / len(rows), 1, rtol=1e-3)
    np.testing.assert_allclose(of_rows(Compose(Products(), apart), rows), both[1], rtol=1e-4, atol=1e-4)

"""Classical slow feature analysis against closed forms and scikit-learn's way of whitening."""

import numpy as np
import pytest

from eigenax.baselines import linear_sfa
from eigenax.baselines.linear_sfa import (
    classical_slowness,
    principal_components,
    quadratic,
    slow_directions,
)
from eigenax.evaluation.slowness import delta_values

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
    expanded = np.asarray(quadratic(rows))
    features = slow_directions(rows, 1, quadratic)(expanded)
    assert abs(np.corrcoef(features[:, 0], SLOW)[0, 1]) > 0.999


@pytest.mark.parametrize("held_out", [1000])
def test_both_ways_are_measured_on_another_video(held_out):
    rows = np.concatenate([mixed(6), mixed(6, 1) * 0], 1)  # columns without variance tell nothing, and harm nothing
    found = classical_slowness((lambda i: rows[i], 3000), (lambda i: rows[3000 + i], held_out), 2)
    exact = delta_values([np.stack([SLOW, FAST], 1)[3000:]])
    np.testing.assert_allclose(found["linear SFA"], exact, rtol=0.02)
    assert found["quadratic SFA"][0] <= 1.05 * exact[0]


def test_pieces_make_no_difference(monkeypatch):
    rows = mixed(6)
    together = slow_directions(rows, 2, quadratic)
    monkeypatch.setattr(linear_sfa, "PIECE", 700)
    apart = slow_directions(rows, 2, quadratic)
    both = [np.asarray(found(rows, quadratic)) for found in (together, apart)]
    np.testing.assert_allclose(np.abs(np.sum(both[0] * both[1], 0)) / len(rows), 1, rtol=1e-3)
    np.testing.assert_allclose(linear_sfa.of_rows(apart, rows, quadratic), both[1], rtol=1e-4, atol=1e-4)


def test_more_features_than_can_be_told_apart_are_not_numbers():
    rows = np.random.default_rng(0).normal(size=(3000, 12)).cumsum(0)
    found = classical_slowness((lambda i: rows[i], 2000), (lambda i: rows[2000 + i], 1000), 80)
    assert np.isnan(found["linear SFA"][12:]).all()
    assert np.isfinite(found["linear SFA"][:12]).all()
    assert np.isfinite(found["quadratic SFA"]).all()  # the 90 products of all 12, not the 65 of the first 10

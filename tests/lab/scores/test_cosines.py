"""Cosines between learned and exact functions, whatever was turned inside of an eigenspace."""

import numpy as np

from eigenax.lab.scores.cosines import matched

RNG = np.random.default_rng(0)
EXACT = np.linalg.qr(RNG.normal(size=(50, 5)))[0]
VALUES = np.array([0.0, 1.0, 1.0, 1.0, 2.0])


def test_functions_turned_inside_of_an_eigenspace_match_and_are_turned_back():
    turn = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    learned = np.concatenate([-3 * EXACT[:, :1], 3 * EXACT[:, 1:4] @ turn, 3 * EXACT[:, 4:]], 1)
    found = matched(learned, EXACT, VALUES, np.ones(50))
    np.testing.assert_allclose(found.cosines, 1, atol=1e-12)
    np.testing.assert_allclose(found.functions, 3 * EXACT, atol=1e-12)


def test_the_last_eigenspace_may_go_on_beyond_what_was_learned():
    turn = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    learned = np.concatenate([EXACT[:, :1], (EXACT[:, 1:4] @ turn)[:, :2]], 1)
    np.testing.assert_allclose(matched(learned, EXACT, VALUES, np.ones(50)).cosines, 1, atol=1e-12)


def test_a_function_that_is_off_shows_by_its_angle():
    learned = EXACT.copy()
    learned[:, 4] = np.cos(0.3) * EXACT[:, 4] + np.sin(0.3) * EXACT[:, 0]
    np.testing.assert_allclose(matched(learned, EXACT, VALUES, np.ones(50)).cosines[-1], np.cos(0.3))

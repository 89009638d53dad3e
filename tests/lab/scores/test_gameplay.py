"""Separation and probe: of features that encode a game, and of features that do not."""

import numpy as np

from eigenax.lab.scores.gameplay import extreme_frames, mean_frames, probe, separation


def game(steps=4000):
    """A bright square that walks about, and memory that holds where it is, a counter, and noise."""
    rng = np.random.default_rng(0)
    place = np.clip(np.cumsum(rng.choice([-1, 0, 1], steps)) % 40, 0, 19).astype(int)
    frames = np.zeros((steps, 20, 20), np.uint8)
    frames[np.arange(steps), :, place] = 255
    memory = np.zeros((steps, 8), np.uint8)
    memory[:, 1], memory[:, 4] = place, rng.integers(0, 256, steps)
    return frames, memory, place.astype(float)


def test_what_encodes_the_game_is_far_from_chance_and_what_does_not_is_not():
    frames, _, place = game()
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(len(place), 3))
    slow_noise = np.convolve(rng.normal(size=len(place) + 199), np.ones(200), "valid")
    features = np.concatenate([place[:, None], noise, slow_noise[:, None]], 1)
    found = separation(features, frames)
    assert found[0] > 20
    assert found[-1] > 5
    assert np.abs(found[1:-1]).max() < 3
    found = separation(features, frames, in_time=True)
    assert found[0] > 3
    assert np.abs(found[1:]).max() < 3


def test_extremes_are_the_largest_and_the_smallest():
    frames, _, place = game()
    top, bottom = extreme_frames(place, 50)
    assert place[top].min() >= place[np.setdiff1d(np.arange(len(place)), top)].max()
    assert place[bottom].max() <= place[np.setdiff1d(np.arange(len(place)), bottom)].min()
    above, below = mean_frames(frames, np.stack([top, bottom]))
    assert above[:, 19].mean() == 255
    assert below[:, 0].mean() == 255


def test_the_probe_is_the_mean_over_bytes_that_vary():
    _, memory, place = game()
    np.testing.assert_allclose(probe(place[:, None], memory), 0.5, atol=0.01)  # one of two: the other one is noise
    assert abs(probe(np.random.default_rng(2).normal(size=(len(place), 5)), memory)) < 0.05

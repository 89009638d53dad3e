"""Laplacian representations of real environments, and agents that are paid for following them."""

import gymnasium
import numpy as np
import pytest

from eigenax.environments import Eigenpurpose
from eigenax.estimators import LaplacianRepresentation, SlowFeatureAnalysis

SIZE = 7


class Corridor(gymnasium.Env):
    """A line of states or places, walked left and right; what is seen is the number, the place, or an image."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, seen="state"):
        self.seen, self.place = seen, 0
        self.observation_space = gymnasium.spaces.Discrete(SIZE)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self._observed(), {}

    def step(self, action):
        self.place = min(SIZE - 1, max(0, self.place + (1 if action == 1 else -1)))
        return self._observed(), float(self.place == SIZE - 1), False, False, {}

    def _observed(self):
        if self.seen == "state":
            return self.place
        if self.seen == "row":
            return np.array([self.place, 1.0], np.float32)
        image = np.zeros((8, 8, 3), np.uint8)
        image[:, self.place : self.place + 2] = 255
        return image


def exact(n):
    """The line's own eigenfunctions, cos(πk(i + ½)/size), of mean square one."""
    return np.sqrt(2) * np.cos(np.pi * np.arange(1, n + 1) * (np.arange(SIZE)[:, None] + 0.5) / SIZE)


def observations(seen):
    env = Corridor(seen)
    found = []
    for place in range(SIZE):
        env.place = place
        found.append(env._observed())
    return np.array(found)


@pytest.mark.parametrize("seen", ["state", "row"])
def test_a_corridor_has_the_eigenfunctions_of_a_line(seen):
    found = LaplacianRepresentation(3, samples=15_000, random_state=0).fit(Corridor(seen))
    values = found.transform(observations(seen))
    overlaps = np.abs(values.T @ exact(3)) / SIZE
    np.testing.assert_allclose(overlaps, np.eye(3), atol=0.1)
    step = 2 * (1 - np.cos(np.pi * np.arange(1, 4) / SIZE))  # it stays at the ends half of the time
    np.testing.assert_allclose(found.delta_values_, step, rtol=0.1)


def test_images_with_their_colours_last_are_seen():
    found = LaplacianRepresentation(1, samples=600, steps=150, clips=16, random_state=0).fit(Corridor("image"))
    values = found.transform(observations("image"))
    assert abs(np.corrcoef(values[1:, 0], np.arange(1, SIZE))[0, 1]) > 0.9


def test_recorded_transitions_are_as_good_as_the_environment():
    rng = np.random.default_rng(0)
    place = rng.integers(0, SIZE, 6000)
    after = np.clip(place + rng.choice([-1, 1], 6000), 0, SIZE - 1)
    found = LaplacianRepresentation(2, random_state=0).fit((place, after))
    overlaps = np.abs(found.transform(np.arange(SIZE)).T @ exact(2)) / SIZE
    np.testing.assert_allclose(overlaps, np.eye(2), atol=0.1)


def test_an_eigenpurpose_pays_the_change_of_its_function_and_tells_the_true_reward():
    representation = LaplacianRepresentation(2, samples=5000, random_state=0).fit(Corridor())
    values = representation.transform(np.arange(SIZE))[:, 1]
    env = Eigenpurpose(Corridor(), representation, component=1, sign=-1.0)
    env.reset(seed=0)
    for place in range(1, SIZE):
        observation, reward, _, _, info = env.step(1)
        assert observation == place
        np.testing.assert_allclose(reward, values[place - 1] - values[place], atol=1e-5)
        assert info["reward"] == float(place == SIZE - 1)
    with pytest.raises(ValueError, match="component must be from 0 to 1; got 2"):
        Eigenpurpose(Corridor(), representation, component=2)


def test_it_is_saved_with_the_states_it_knows(tmp_path):
    found = LaplacianRepresentation(1, samples=2000, random_state=0).fit(Corridor())
    found.save(tmp_path / "line.safetensors")
    loaded = LaplacianRepresentation.load(tmp_path / "line.safetensors")
    np.testing.assert_array_equal(loaded.transform(np.arange(SIZE)), found.transform(np.arange(SIZE)))
    with pytest.raises(ValueError, match="X must hold states from 0 to 6; got 7"):
        loaded.transform(np.arange(SIZE + 1))
    with pytest.raises(RuntimeError, match="was not saved by SlowFeatureAnalysis but by another"):
        SlowFeatureAnalysis.load(tmp_path / "line.safetensors")


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ([np.arange(-3, 50)], "X must hold states from 0 on; got -3"),
        ((np.arange(50), np.arange(49)), r"as many next observations as observations; got \[50, 49\]"),
    ],
)
def test_wrong_records_are_refused(recorded, said):
    with pytest.raises(ValueError, match=said):
        LaplacianRepresentation(1).fit(recorded)

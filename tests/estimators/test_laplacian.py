"""Laplacian representations of real environments, and agents that are paid for following them."""

import gymnasium
import numpy as np
import pytest
import scipy.sparse
from gymnasium.utils.env_checker import check_env

from eigenax.environments import Eigenpurpose
from eigenax.estimators import LaplacianRepresentation, SlowFeatureAnalysis
from eigenax.lab.baselines.graph import exact_modes, graph_of_steps

SIZE = 7


class Corridor(gymnasium.Env):
    """A line of states or places, walked left and right; what is seen is the number, the place, or an image."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, seen="state", size=SIZE):
        self.seen, self.place, self.size = seen, 0, size
        self.observation_space = gymnasium.spaces.Discrete(size)
        self.row = np.ones(2, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self._observed(), {}

    def step(self, action):
        self.place = min(self.size - 1, max(0, self.place + (1 if action == 1 else -1)))
        return self._observed(), float(self.place == self.size - 1), False, False, {}

    def _observed(self):
        if self.seen == "state":
            return self.place
        if self.seen == "row":
            self.row[0] = self.place  # the same array every time, as some environments have it
            return self.row
        image = np.zeros((8, 8, 1 if self.seen == "grey" else 3), np.uint8)
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
        found.append(np.array(env._observed()))
    return np.array(found)


@pytest.mark.parametrize("seen", ["state", "row"])
def test_a_corridor_has_the_eigenfunctions_of_a_line(seen):
    found = LaplacianRepresentation(3, samples=15_000, random_state=0).fit(Corridor(seen))
    values = found.transform(observations(seen))
    overlaps = np.abs(values.T @ exact(3)) / SIZE
    np.testing.assert_allclose(overlaps, np.eye(3), atol=0.1)
    step = 1 - np.cos(np.pi * np.arange(1, 4) / SIZE)  # it stays at the ends half of the time
    np.testing.assert_allclose(found.eigenvalues_, step, rtol=0.1)
    np.testing.assert_array_equal(found.eigenvalues_, found.modes_.eigenvalues)


def test_grey_images_with_their_colour_last_are_seen_and_followed():
    found = LaplacianRepresentation(1, samples=600, steps=150, clips=16, random_state=0).fit(Corridor("grey"))
    values = found.transform(observations("grey"))[:, 0]
    assert abs(np.corrcoef(values[1:], np.arange(1, SIZE))[0, 1]) > 0.9
    env = Eigenpurpose(Corridor("grey"), found, component=0)
    env.reset(seed=0)
    paid = [env.step(1)[1] for _ in range(SIZE - 1)]
    np.testing.assert_allclose(np.cumsum(paid), values[1:] - values[0], atol=1e-4)


@pytest.mark.slow
def test_transitions_of_images_are_seen_one_by_one():
    images, rng = observations("image"), np.random.default_rng(0)
    place = rng.integers(0, SIZE, 400)
    after = np.clip(place + rng.choice([-1, 1], 400), 0, SIZE - 1)
    found = LaplacianRepresentation(1, steps=150, random_state=0).fit((images[place], images[after]))
    assert abs(np.corrcoef(found.transform(images)[:, 0], np.arange(SIZE))[0, 1]) > 0.9
    assert found.n_stack_ == 1


def test_a_state_that_was_never_visited_is_known_to_the_environment_and_otherwise_refused_by_name():
    long = Corridor(size=40)
    env = Eigenpurpose(long, LaplacianRepresentation(1, samples=100, random_state=0).fit(long), component=0)
    env.reset(seed=0)
    assert all(np.isfinite(env.step(1)[1]) for _ in range(39))
    few = LaplacianRepresentation(1, random_state=0).fit([np.random.default_rng(0).integers(0, 5, 300)])
    env = Eigenpurpose(long, few, component=0)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="state 5 is none of the 5 that the representation knows"):
        [env.step(1) for _ in range(5)]


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
    with pytest.raises(ValueError, match="component must be a whole number from 0 to 1; got 2"):
        Eigenpurpose(Corridor(), representation, component=2)


def test_it_is_saved_with_the_states_it_knows(tmp_path):
    found = LaplacianRepresentation(1, samples=2000, random_state=0).fit(Corridor())
    found.save(tmp_path / "line.safetensors")
    loaded = LaplacianRepresentation.load(tmp_path / "line.safetensors")
    np.testing.assert_array_equal(loaded.transform(np.arange(SIZE)), found.transform(np.arange(SIZE)))
    np.testing.assert_array_equal(loaded.eigenvalues_, found.eigenvalues_)
    with pytest.raises(ValueError, match="X must hold states from 0 to 6; got 7"):
        loaded.transform(np.arange(SIZE + 1))
    with pytest.raises(RuntimeError, match="was not saved by SlowFeatureAnalysis but by another"):
        SlowFeatureAnalysis.load(tmp_path / "line.safetensors")


def test_numbers_of_states_may_stand_in_a_column():
    walk = np.random.default_rng(0).integers(6, size=2000)
    flat, column = (LaplacianRepresentation(2).fit([states]) for states in (walk, walk[:, None]))
    np.testing.assert_array_equal(flat.eigenvalues_, column.eigenvalues_)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ([np.arange(-3, 50)], "X must hold states from 0 on; got -3"),
        ([np.array([0, 1, 2**40, 0])], "got 1099511627776. Renumber the states that occur"),
    ],
)
def test_wrong_records_are_refused(recorded, said):
    with pytest.raises(ValueError, match=said):
        LaplacianRepresentation(1).fit(recorded)


def test_a_state_never_visited_has_no_value_and_pays_nothing(tmp_path):
    walk = np.concatenate([np.tile([0, 1, 2, 3, 2, 1], 100), np.tile([3, 5, 6, 5], 100)])
    found = LaplacianRepresentation(1, random_state=0).fit([walk])
    found.save(tmp_path / "found")
    for one in (found, LaplacianRepresentation.load(tmp_path / "found")):
        assert one.visited_ == [0, 1, 2, 3, 5, 6]
        np.testing.assert_array_equal(np.isnan(one.transform(np.arange(7))[:, 0]), np.arange(7) == 4)
    env = Eigenpurpose(Corridor(size=7), found, component=0)
    env.reset(seed=0)
    paid = [env.step(1)[1] for _ in range(6)]
    values = found.transform(np.arange(7))[:, 0]
    np.testing.assert_allclose(paid[:5], [*np.diff(values[:4]), 0.0, values[5] - values[3]], rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("FrozenLake-v1", "an environment, not its name or class"),
        (gymnasium.Env, "an environment, not its name or class"),
        ([], "an environment, a list of episodes"),
        (None, "an environment, a list of episodes"),
        (3, "an environment, a list of episodes"),
        (scipy.sparse.csr_array(np.eye(4)), "X must be dense; got a sparse matrix"),
        ((np.arange(5), np.arange(5), np.arange(5)), r"\(observations, next observations\); got 3"),
        ((np.arange(5), np.arange(4)), r"as many next observations as observations.*\(5,\), \(4,\)"),
        ((np.ones((5, 2)), np.ones((5, 3))), r"of the same shape.*\(5, 2\), \(5, 3\)"),
    ],
)
def test_what_is_no_environment_and_no_record_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        LaplacianRepresentation(1).fit(given)


def test_several_environments_at_once_are_refused():
    with pytest.raises(ValueError, match="one environment; got several"):
        LaplacianRepresentation(1).fit(gymnasium.make_vec("CartPole-v1", 2))


def test_eigenpurposes_of_the_wrong_kind_are_refused():
    representation = LaplacianRepresentation(2, samples=1000, random_state=0).fit(Corridor())
    with pytest.raises(ValueError, match="a whole number from 0 to 1; got -1"):
        Eigenpurpose(Corridor(), representation, component=-1)
    with pytest.raises(ValueError, match="sign must be 1 or -1; got 0"):
        Eigenpurpose(Corridor(), representation, component=0, sign=0)
    with pytest.raises(ValueError, match="states 0 to"):
        Eigenpurpose(gymnasium.make("CartPole-v1"), representation, component=0)
    env = Eigenpurpose(Corridor(), representation, component=0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(1)


def test_gymnasium_finds_nothing_wrong_with_an_eigenpurpose():
    representation = LaplacianRepresentation(1, samples=1000, random_state=0).fit(gymnasium.make("CliffWalking-v1"))
    check_env(Eigenpurpose(gymnasium.make("CliffWalking-v1"), representation, component=0), skip_render_check=True)


def test_numbers_of_states_are_counted_and_decomposed_and_their_parts_are_told():
    """Four rings that no step joins, of forty states each, numbered at random: what Taxi is."""
    rng = np.random.default_rng(0)
    numbers = rng.permutation(160).reshape(4, 40)
    walks = [ring[rng.choice([-1, 1], 4000).cumsum() % 40] for ring in numbers]
    with pytest.warns(RuntimeWarning, match="the graph has 4 parts"):
        found = LaplacianRepresentation(5, random_state=0).fit(walks)
    before, after = (np.concatenate([walk[part] for walk in walks]) for part in (slice(-1), slice(1, None)))
    exact = exact_modes(graph_of_steps(before, after, 160), 6).values[:6]
    np.testing.assert_allclose(found.eigenvalues_, exact[1:], atol=1e-12)
    assert np.ptp(found.transform(numbers.ravel())[:, :3].reshape(4, 40, 3), axis=1).max() < 1e-6
    assert len(np.unique(found.transform(numbers[:, 0])[:, :3].round(3), axis=0)) == 4


def test_observations_with_names_are_to_be_flattened():
    class Named(Corridor):
        def __init__(self):
            super().__init__("row")
            self.observation_space = gymnasium.spaces.Dict({"row": gymnasium.spaces.Box(0, SIZE, (2,))})

        def _observed(self):
            return {"row": super()._observed().copy()}

    with pytest.raises(ValueError, match=r"got Dict: give gymnasium.wrappers.FlattenObservation\(env\)"):
        LaplacianRepresentation(2, random_state=0).fit(Named())
    flat = gymnasium.wrappers.FlattenObservation(Named())
    assert LaplacianRepresentation(2, samples=2000, random_state=0).fit(flat).n_features_in_ == 2

"""Steps of a process, recorded or taken by a random agent."""

import gymnasium
import jax
import numpy as np
import pytest

import eigenax as ex


def test_pairs_are_those_that_were_recorded():
    before = np.arange(10.0)[:, None]
    batch = ex.Transitions(before, before + 100).sample(jax.random.key(0), 50)
    np.testing.assert_array_equal(batch.x[batch.second] - batch.x[batch.first], np.full((50, 1), 100))


def test_an_environment_gives_steps_that_cross_no_end():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    steps = ex.Transitions.of_environment(lake, 400, seed=0)
    assert steps.shape == (1,)
    assert len(steps.before) == 400
    ends = {5, 7, 11, 12, 15}  # holes and the goal: an episode is over there
    assert not ends & set(np.asarray(steps.before).ravel().astype(int).tolist())
    assert np.isin(np.abs(np.asarray(steps.after - steps.before)), [0, 1, 4]).all()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (np.zeros((3, 2)), np.ones((4, 2)), r"of one shape.*\(3, 2\) and \(4, 2\)"),
        (np.zeros(3), np.ones(3), r"observations\[:, None\]"),
        (np.zeros((0, 2)), np.zeros((0, 2)), "one step at least"),
        (np.full((3, 1), np.nan), np.ones((3, 1)), "observations contains NaN"),
        (np.ones((3, 1)), np.ones((3, 1)), "nothing moves"),
    ],
)
def test_what_are_no_steps_is_one_sentence(before, after, said):
    with pytest.raises(ValueError, match=said):
        ex.Transitions(before, after)


def test_a_name_is_no_environment():
    with pytest.raises(ValueError, match="environment that was made"):
        ex.Transitions.of_environment("FrozenLake-v1", 10)

"""Transitions of an agent: within episodes, with the action that led to the next frame."""

import jax
import numpy as np

from eigenax.lab.baselines.agent_steps import STACK, AgentSteps


def test_transitions_stay_in_an_episode_and_know_what_was_done():
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, 400).astype(np.uint8)
    frames = np.zeros((400, 2, 2), np.uint8)
    frames[:, 0, 0], frames[:, 1, 1] = np.arange(400) % 256, 255 * actions
    starts = np.zeros(400, bool)
    starts[[0, 100, 103, 250]] = True
    source = AgentSteps(frames, actions, starts)
    drawn = source.sample(jax.random.key(0), 2000)
    last = np.asarray(drawn.x[:, -1, 0, 0] * 255).round().astype(int)
    after = np.asarray(drawn.after[:, -1, 0, 0] * 255).round().astype(int)
    np.testing.assert_array_equal((last + 1) % 256, after)
    firsts = np.asarray(source.firsts)
    assert not any(starts[first + 1 : first + STACK + 1].any() for first in firsts)
    assert len(firsts) == sum(max(0, length - STACK) for length in (100, 3, 147, 150))
    right = np.asarray(drawn.after[:, -1, 1, 1])
    np.testing.assert_array_equal(np.asarray(drawn.action), right)

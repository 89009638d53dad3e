"""Discs in a box: what mechanics keeps, and what their pictures show."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from eigenax.lab.datasets.bouncing_balls import Balls, Discs, bouncing_balls, moved

LONG = bouncing_balls(5000, seed=3)


def distances(positions):
    first, second = np.triu_indices(positions.shape[1], 1)
    return np.linalg.norm(positions[:, first] - positions[:, second], axis=-1)


def test_energy_is_conserved():
    energy = (LONG.velocities**2).sum((1, 2))
    np.testing.assert_allclose(energy, 3 * 2.0**2, rtol=1e-12)


def test_discs_stay_inside_and_never_overlap():
    assert LONG.positions.min() >= 6 - 1e-9
    assert LONG.positions.max() <= 64 - 6 + 1e-9
    assert distances(LONG.positions).min() >= 12 - 1e-9


def test_time_can_run_backwards():
    back = moved(LONG.positions[100], -LONG.velocities[100], 101)
    np.testing.assert_allclose(back.positions, LONG.positions[100::-1], atol=1e-6)


def test_between_collisions_discs_go_straight():
    alone = moved(np.array([[20.0, 30.0]]), np.array([[1.5, -0.5]]), 10)
    np.testing.assert_allclose(alone.positions[:, 0], [[20 + 1.5 * t, 30 - 0.5 * t] for t in range(10)], rtol=1e-12)


def test_a_disc_comes_back_from_the_wall_at_the_moment_it_should():
    alone = moved(np.array([[55.0, 30.0]]), np.array([[2.0, 0.0]]), 4)  # the wall is met at 58
    np.testing.assert_allclose(alone.positions[:, 0, 0], [55, 57, 57, 55], rtol=1e-12)
    np.testing.assert_allclose(alone.velocities[-1, 0], [-2, 0], rtol=1e-12)


def test_two_discs_that_meet_head_on_exchange_their_velocities():
    pair = moved(np.array([[20.0, 30.0], [40.0, 30.0]]), np.array([[2.0, 0.0], [-1.0, 0.0]]), 5)
    np.testing.assert_allclose(pair.velocities[-1], [[-1, 0], [2, 0]], atol=1e-12)


def test_momentum_is_kept_in_a_collision_of_two():
    pair = moved(np.array([[25.0, 30.0], [38.0, 33.0]]), np.array([[2.0, 0.3], [-1.0, 0.1]]), 6)
    np.testing.assert_allclose(pair.velocities.sum(1), np.tile([1.0, 0.4], (6, 1)), rtol=1e-12)
    assert not np.allclose(pair.velocities[-1], pair.velocities[0])


def test_the_seed_decides():
    first, again, other = (bouncing_balls(50, seed=seed) for seed in (0, 0, 1))
    assert isinstance(first, Balls)
    np.testing.assert_array_equal(first.positions, again.positions)
    assert not np.allclose(first.positions, other.positions)


def test_balls_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="8 balls of radius 20 do not fit into a box of 64"):
        bouncing_balls(10, balls=8, radius=20)


def test_a_disc_covers_its_area_around_its_middle():
    image = np.asarray(Discs(64, 6.0)(jnp.asarray([[20.0, 40.0]])))[0]
    assert abs(image.sum() - np.pi * 36) < 2
    down, right = np.mgrid[:64, :64] + 0.5
    np.testing.assert_allclose([(right * image).sum(), (down * image).sum()] / image.sum(), [20, 40], atol=0.05)
    assert image.min() == 0
    assert image.max() == 1


def test_pictures_of_moving_discs_change_smoothly():
    images = jax.vmap(Discs(64, 6.0))(jnp.asarray([[[20.0, 20.0]], [[20.2, 20.0]]]))
    change = np.abs(np.asarray(images[1] - images[0]))
    assert 0 < change.max() < 0.25

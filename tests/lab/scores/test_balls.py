"""What features tell of balls, on features that are made to tell it."""

import numpy as np

from eigenax.lab.datasets.bouncing_balls import bouncing_balls
from eigenax.lab.scores.balls import harmonics, heat_maps, meaning, pairs

BALLS, REACH = bouncing_balls(20_000, seed=5), (6.0, 58.0)


def standard(values):
    return (values - values.mean(0)) / values.std(0)


def test_a_harmonic_is_recognised_as_one_and_velocity_is_not_told_by_it():
    slow = harmonics(BALLS.positions, REACH, 2)
    features = standard(slow.values[:, [slow.names.index("cos πx"), slow.names.index("cos πy")]])
    told = meaning(features, BALLS.positions, BALLS.velocities, REACH)
    assert [name for name, _ in told.best_harmonic] == ["cos πx", "cos πy"]
    np.testing.assert_allclose(told.marginal, 1, atol=1e-6)
    assert told.harmonics["cos πx"] > 0.999
    assert max(told.velocities["x"], told.velocities["y"]) < 0.05


def test_velocity_is_told_by_velocity():
    told = meaning(standard(BALLS.velocities.mean(1)), BALLS.positions, BALLS.velocities, REACH)
    assert min(told.velocities["x"], told.velocities["y"]) > 0.999


def test_places_of_slow_balls_are_told_from_places_of_all():
    speeds = np.linalg.norm(BALLS.velocities, axis=-1)
    features = harmonics(BALLS.positions, REACH, 1, 1 / (speeds + speeds.mean() / 2)).values
    told = meaning(standard(features), BALLS.positions, BALLS.velocities, REACH)
    assert told.slow_balls["cos πx"] > 0.999
    assert told.harmonics["cos πx"] < 0.9


def test_a_function_of_pairs_is_found_among_functions_of_single_places():
    both = pairs(BALLS.positions, REACH, 2)
    joint = both.values[:, both.names.index("cos πx × cos πx")]
    single = harmonics(BALLS.positions, REACH, 1).values
    told = meaning(standard(np.column_stack([single, joint])), BALLS.positions, BALLS.velocities, REACH)
    assert told.joint == 2
    assert told.marginal[2] < 0.5
    assert told.best_pair[0] == "cos πx × cos πx"
    assert told.best_pair[1] > 0.5


def test_a_heat_map_shows_where_a_feature_is_positive():
    feature = standard(BALLS.positions[..., 0].sum(1, keepdims=True))  # balls on the right
    (image,) = heat_maps(feature, BALLS.positions, REACH, bins=8)
    assert image[:, -1].min() > 0.2
    assert image[:, 0].max() < -0.2
    np.testing.assert_allclose(image[:4].mean(), image[4:].mean(), atol=0.15)

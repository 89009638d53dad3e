"""What the page shows of a user's video."""

import numpy as np

from eigenax.lab.report.user_video import draw_extremes


def test_frames_are_shown_as_they_are_light_where_they_are_light():
    frames = np.zeros((5, 4, 6))
    frames[3, 1, 2] = 200.0
    features = np.array([0.0, 1.0, -1.0, 3.0, 0.0])[:, None]
    figure, _ = draw_extremes([frames], [features])
    shown = figure.axes[0].images[0]
    np.testing.assert_array_equal(shown.get_array(), frames[3])
    colours = shown.to_rgba(shown.get_array())[..., :3]
    assert (colours[1, 2] == 1).all()
    assert (colours[0, 0] == 0).all()

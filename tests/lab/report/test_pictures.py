"""Which part of a domain of many dimensions is drawn."""

import numpy as np

from eigenax.domains.box import Box
from eigenax.lab.report.pictures import liveliest_axes, on_plane


def packets(excited, dims=5):
    """A Gaussian, and the same times one coordinate for each excited axis."""

    def modes(points):
        ground = np.exp(-(points**2).sum(-1))[..., None]
        return np.concatenate([ground, *(points[..., [axis]] * ground for axis in excited)], -1)

    return modes, Box(-4.0, 4.0, dims=dims)


def test_the_plane_is_that_of_the_axes_along_which_modes_are_excited():
    modes, box = packets([3, 1])
    assert liveliest_axes(modes, box) == (1, 3)
    plane = on_plane(modes, box)
    assert plane.axes == (1, 3)
    _, up, right = plane.images
    assert np.abs(up).max() > 0.2
    assert np.abs(right).max() > 0.2
    np.testing.assert_allclose(up, -up[::-1], atol=1e-12)  # odd along axis 3, which goes up
    np.testing.assert_allclose(right, -right[:, ::-1], atol=1e-12)
    assert plane.extent[1] < 3.5  # the empty part of the box is left out


def test_equal_axes_are_drawn_in_order():
    assert liveliest_axes(*packets([0, 1, 2, 3, 4])) == (0, 1)
    assert liveliest_axes(*packets([1], dims=2)) == (0, 1)

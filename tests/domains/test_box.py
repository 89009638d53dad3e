"""Boxes: their bounds, their boundary, and where uniform numbers are placed."""

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex


@pytest.mark.parametrize(
    ("box", "low", "high"),
    [
        (ex.Box(-1.0, 3.0), [-1], [3]),
        (ex.Box(-50.0, 50.0, dims=2), [-50, -50], [50, 50]),
        (ex.Box([0.0, -1.0, 2.0], [1.0, 1.0, 2.5]), [0, -1, 2], [1, 1, 2.5]),
        (ex.Box([0.0, -1.0], 3.0), [0, -1], [3, 3]),
        (ex.Box(-2.0, [1.0, 4.0], dims=2), [-2, -2], [1, 4]),
    ],
)
def test_bounds_are_numbers_or_one_number_per_axis(box, low, high):
    low, high = np.asarray(low, float), np.asarray(high, float)
    assert box.shape == (len(low),)
    assert box.volume == pytest.approx(np.prod(high - low))
    np.testing.assert_array_equal(box.centre, (low + high) / 2)
    np.testing.assert_array_equal(box.half_width, (high - low) / 2)


def test_the_density_is_one_over_the_volume_inside_and_zero_outside():
    box = ex.Box([0.0, -2.0], [4.0, 0.5])
    x = jnp.asarray([[1.0, -1.0], [4.0, 0.5], [4.1, 0.0], [1.0, 0.6], [-0.1, -2.1]])
    np.testing.assert_allclose(box.density(x), [0.1, 0.1, 0, 0, 0], rtol=1e-6)
    np.testing.assert_array_equal(box.contains(x), [1, 1, 0, 0, 0])


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (2.0, 1.0)])
def test_low_must_be_below_high(low, high):
    with pytest.raises(ValueError, match=f"axis 0 has low {low}, high {high}"):
        ex.Box(low, high)
    with pytest.raises(ValueError, match=f"axis 1 has low {low}, high {high}"):
        ex.Box([0.0, low], [5.0, high])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_bounds_must_be_finite(bad):
    with pytest.raises(ValueError, match="finite low < high"):
        ex.Box(bad, 1.0)
    with pytest.raises(ValueError, match="finite low < high"):
        ex.Box(0.0, [1.0, bad])


def test_dimensions_must_agree():
    with pytest.raises(ValueError, match="low has 2 values, but dims is 3"):
        ex.Box([0.0, 0.0], 1.0, dims=3)
    with pytest.raises(ValueError, match="high has 1 values, but dims is 2"):
        ex.Box(0.0, [1.0], dims=2)
    with pytest.raises(ValueError, match="low has 2 axes and high has 3"):
        ex.Box([0.0, 0.0], [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="dims must be at least 1; got 0"):
        ex.Box(0.0, 1.0, dims=0)


@pytest.mark.usefixtures("as_user")
def test_a_matrix_is_no_bound():
    with pytest.raises(ValueError, match=r"one number per axis; got shape \(2, 2\)"):
        ex.Box(np.zeros((2, 2)), 1.0, dims=2)


@pytest.mark.parametrize(
    ("boundary", "each"),
    [
        ("dirichlet", ("dirichlet",) * 3),
        ("neumann", ("neumann",) * 3),
        ("periodic", ("periodic",) * 3),
        (("dirichlet", "neumann", "periodic"), ("dirichlet", "neumann", "periodic")),
        (["periodic", "periodic", "dirichlet"], ("periodic", "periodic", "dirichlet")),
        (
            [("dirichlet", "neumann"), "periodic", ("neumann", "neumann")],
            (("dirichlet", "neumann"), "periodic", "neumann"),
        ),
    ],
)
def test_a_boundary_is_one_word_or_one_or_two_for_each_axis(boundary, each):
    assert ex.Box(0.0, 1.0, dims=3, boundary=boundary).boundary == each
    assert ex.Box([0.0, 1.0, 2.0], 3.0, boundary=boundary).boundary == each


def test_functions_are_zero_at_the_edge_unless_told_otherwise():
    assert ex.Box(0.0, 1.0, dims=2).boundary == ("dirichlet", "dirichlet")


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    "boundary", ["closed", "Dirichlet", "", ("dirichlet", "open"), ("dirichlet", None), (1, "neumann")]
)
def test_other_words_are_refused_by_name(boundary):
    wrong = boundary if isinstance(boundary, str) else next(w for w in boundary if w not in {"dirichlet", "neumann"})
    with pytest.raises(ValueError, match=f"boundary must be 'dirichlet', 'neumann' or 'periodic'; got {wrong!r}"):
        ex.Box(0.0, 1.0, dims=2, boundary=boundary)


@pytest.mark.parametrize("boundary", [("dirichlet",), ("dirichlet", "neumann", "dirichlet"), ()])
def test_words_must_be_as_many_as_axes(boundary):
    with pytest.raises(ValueError, match=f"one word, or one for each of 2 axes; got {len(boundary)}"):
        ex.Box(0.0, 1.0, dims=2, boundary=boundary)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("pair", [("dirichlet", "periodic"), ("neumann",), ("neumann", "neumann", "dirichlet"), ()])
def test_faces_of_an_axis_are_two_and_both_periodic_or_none(pair):
    with pytest.raises(ValueError, match="two for its lower and its upper face, both of them 'periodic' or none; got "):
        ex.Box(0.0, 1.0, dims=2, boundary=("dirichlet", pair))
    with pytest.raises(ValueError, match=r"one for each of 1 axes; got 2. A pair in the place of a word"):
        ex.Box(0.0, 1.0, boundary=("dirichlet", "neumann"))


def test_places_go_from_the_low_corner_to_the_high_one():
    box = ex.Box([-1.0, 2.0], [3.0, 2.5])
    assert box.n_uniforms == 2
    got = box.icdf(jnp.asarray([[0.0, 0.0], [0.5, 0.5], [0.25, 1.0]]))
    np.testing.assert_allclose(got, [[-1, 2], [1, 2.25], [0, 2.5]])


def test_a_box_is_flat_and_its_faces_are_its_boundary():
    box = ex.Box(0.0, 1.0, dims=2, boundary=("neumann", "periodic"))
    assert box.box is box
    assert box.embedding is None
    assert box.faces == (("neumann", "neumann"), ("periodic", "periodic"))
    np.testing.assert_array_equal(box.importance_weights(jnp.zeros((3, 2))), np.ones(3))

"""The factors that vanish on the faces of a box, and the coordinates that fold or close it."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.networks.boundary import (
    BoundaryCoordinates,
    BoxFactor,
    DirichletFactor,
    OffsetFrom,
    coordinates_of,
    dirichlet_factor_of,
)

BOXES = [([-2.0], [2.0]), ([-1.0, 3.0], [4.0, 5.0]), ([0.0, -50.0, 1.0], [0.5, 50.0, 9.0])]


def factor(low, high, x):
    return np.asarray(jax.jit(jax.vmap(BoxFactor(low, high)))(jnp.asarray(x)))


def inside(low, high, count=200):
    return np.random.default_rng(0).uniform(low, high, (count, len(low)))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("low", "high"), BOXES)
def test_zero_on_every_face_and_one_in_the_middle(low, high):
    for axis, bound in itertools.product(range(len(low)), (low, high)):
        x = inside(low, high)
        x[:, axis] = bound[axis]
        np.testing.assert_allclose(factor(low, high, x), 0, atol=1e-14)
    middle = (np.asarray(low) + np.asarray(high)) / 2
    np.testing.assert_allclose(factor(low, high, middle[None]), 1, rtol=1e-14)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("low", "high"), BOXES)
def test_is_the_papers_formula_but_for_one_constant(low, high):
    x, low, high = inside(low, high), np.asarray(low), np.asarray(high)
    half, y = (high - low) / 2, x - (high + low) / 2
    paper = (np.sqrt(2 * half**2 - y**2) - half).prod(1)
    got = factor(low.tolist(), high.tolist(), x)
    np.testing.assert_allclose(got * paper[0], paper * got[0], rtol=1e-9)
    assert ((got > 0) & (got <= 1)).all()


@pytest.mark.usefixtures("float64")
def test_leaves_each_face_with_the_slope_of_the_formula():
    slope = jax.grad(BoxFactor(-2.0, 2.0))
    np.testing.assert_allclose(slope(jnp.asarray([-2.0])), [1 / (np.sqrt(2) - 1) / 2], rtol=1e-12)
    np.testing.assert_allclose(slope(jnp.asarray([2.0])), [-1 / (np.sqrt(2) - 1) / 2], rtol=1e-12)


def test_one_bound_serves_all_axes():
    x = jnp.asarray([0.3, -1.2, 1.9])
    np.testing.assert_allclose(BoxFactor(-2.0, 2.0)(x), BoxFactor([-2.0] * 3, [2.0] * 3)(x), rtol=1e-6)


def test_a_bounded_network_is_the_factor_times_the_network():
    factor, network = BoxFactor([0.0, 0.0], [1.0, 3.0]), ex.MLP(2, 4, width=24, key=jax.random.key(0))
    bounded, x = ex.Multiply(factor, network), jnp.asarray([0.2, 1.0])
    np.testing.assert_allclose(bounded(x), factor(x) * network(x), rtol=1e-6)
    assert not bounded.separate
    assert ex.Multiply(factor, ex.EnsembleMLP(2, 3, width=5, key=jax.random.key(0))).separate


MIXED = ex.Box([-1.0, 0.0, 2.0], [1.0, 3.0, 2.5], boundary=("dirichlet", "neumann", "periodic"))
FACES = ex.Box(
    [-1.0, 0.0, 2.0], [1.0, 3.0, 2.5], boundary=[("dirichlet", "neumann"), ("neumann", "dirichlet"), "periodic"]
)
KINDS = {
    "dirichlet": ex.Box([-1.0, 0.5], [1.0, 4.0], boundary="dirichlet"),
    "neumann": ex.Box([-1.0, 0.5], [1.0, 4.0], boundary="neumann"),
    "periodic": ex.Box([-1.0, 0.5], [1.0, 4.0], boundary="periodic"),
    "mixed": MIXED,
    "faces": FACES,
}


def on_faces(box, axis, count=20):
    """Points of the low face, and those of the high face opposite them."""
    low = inside(box.low, box.high, count)
    low[:, axis] = box.low[axis]
    high = low.copy()
    high[:, axis] = box.high[axis]
    return jnp.asarray(low), jnp.asarray(high)


def some_functions(box):
    """Waves of the coordinates of a box times its walls: smooth functions, as many as coordinates and one."""
    edges, walls = BoundaryCoordinates(box), DirichletFactor(box)
    matrix = jnp.asarray(np.random.default_rng(0).normal(size=(edges.size, edges.size + 1)))
    return lambda x: walls(x) * jnp.sin(edges(x) @ matrix + 1.0)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", KINDS)
def test_functions_of_the_coordinates_of_a_box_obey_its_boundary(name):
    box, function = KINDS[name], some_functions(KINDS[name])
    both = jax.jit(lambda x: (jax.vmap(function)(x), jax.vmap(jax.jacfwd(function))(x)))
    _, slopes_inside = both(jnp.asarray(inside(box.low, box.high)))
    for axis, pair in enumerate(box.faces):
        (low, low_slope), (high, high_slope) = map(both, on_faces(box, axis))
        low_slope, high_slope = low_slope[..., axis], high_slope[..., axis]
        if "periodic" in pair:
            np.testing.assert_allclose(low, high, atol=1e-12)
            np.testing.assert_allclose(low_slope, high_slope, atol=1e-11)
            assert np.abs(low_slope).max() > 0.1
            continue
        for kind, values, slopes in zip(pair, (low, high), (low_slope, high_slope), strict=True):
            np.testing.assert_allclose(values if kind == "dirichlet" else slopes, 0, atol=1e-12)
            assert np.abs(slopes if kind == "dirichlet" else values).max() > 0.1
        assert np.abs(slopes_inside[..., axis]).max() > 0.1


def test_coordinates_of_a_box_are_their_formula():
    x = np.array([0.5, 1.0, 2.125], np.float32)
    third, quarter = np.pi / 3, np.pi / 2
    expected = [0.5, np.cos(third), np.cos(quarter), np.sin(quarter)]
    np.testing.assert_allclose(BoundaryCoordinates(MIXED)(jnp.asarray(x)), expected, atol=1e-6)
    assert BoundaryCoordinates(MIXED).size == 4
    assert [BoundaryCoordinates(KINDS[kind]).size for kind in ("dirichlet", "neumann", "periodic")] == [2, 2, 4]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", KINDS)
def test_no_two_points_of_a_box_have_the_same_coordinates(name):
    box = KINDS[name]
    axes = [np.linspace(a, b, 8, endpoint=False) for a, b in zip(box.low, box.high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, len(axes))
    y = np.asarray(jax.jit(jax.vmap(BoundaryCoordinates(box)))(jnp.asarray(grid)))
    distances = np.linalg.norm(y[:, None] - y, axis=-1) + np.eye(len(y))
    assert distances.min() > 0.015  # cosines are flat near their ends


@pytest.mark.usefixtures("float64")
def test_walls_are_one_in_the_middle_and_stand_on_the_faces_of_zero_axes_alone():
    x = inside(MIXED.low, MIXED.high)
    got = np.asarray(jax.jit(jax.vmap(DirichletFactor(MIXED)))(jnp.asarray(x)))
    np.testing.assert_allclose(got, 1 - x[:, 0] ** 2, rtol=1e-12)
    both = np.asarray(
        jax.jit(jax.vmap(DirichletFactor(KINDS["dirichlet"])))(jnp.asarray([[0.0, 2.25], [0.5, 2.25], [0.5, 4.0]]))
    )
    np.testing.assert_allclose(both, [1, 0.75, 0], atol=1e-14)
    np.testing.assert_allclose(
        jax.vmap(DirichletFactor(FACES))(jnp.asarray([[1.0, 0.0, 2.0], [0.0, 1.5, 2.0]])), [1, 0.75**2]
    )
    open_ones = np.asarray(jax.jit(jax.vmap(DirichletFactor(KINDS["neumann"])))(jnp.asarray([[-1.0, 0.5], [0.0, 4.0]])))
    np.testing.assert_array_equal(open_ones, 1)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("factor", "bend"),
    [(BoxFactor(-1.0, 1.0), -2 / (np.sqrt(2) - 1)), (DirichletFactor(ex.Box(-1.0, 1.0)), -2.0)],
    ids=["BoxFactor", "DirichletFactor"],
)
def test_factors_go_on_smoothly_just_outside_as_finite_differences_need(factor, bend):
    step, at = 1e-3, jax.jit(jax.vmap(factor))
    outside, face, within = (at(jnp.asarray([[1.0], [-1.0]]) * (1 + shift)) for shift in (step, 0.0, -step))
    np.testing.assert_allclose((outside - 2 * face + within) / step**2, bend, rtol=1e-2)


@pytest.mark.parametrize("part", [BoundaryCoordinates, DirichletFactor])
def test_coordinates_and_walls_follow_the_precision_of_the_point(part):
    x = inside(MIXED.low, MIXED.high, 10)
    single = jax.jit(jax.vmap(part(MIXED)))(jnp.asarray(x, jnp.float32))
    with jax.enable_x64(True):
        double = jax.jit(jax.vmap(part(MIXED)))(jnp.asarray(x))
    assert (single.dtype, double.dtype) == (jnp.float32, jnp.float64)
    np.testing.assert_allclose(single, double, atol=2e-6)


def test_coordinates_and_walls_are_those_of_the_domain():
    sphere, mixture = ex.sphere(1.0), ex.Mixture(MIXED, [MIXED], [1.0])
    assert coordinates_of(MIXED) == coordinates_of(mixture.domain) == BoundaryCoordinates(MIXED)
    assert coordinates_of(sphere) is sphere.embedding
    assert dirichlet_factor_of(MIXED) == dirichlet_factor_of(mixture.domain) == DirichletFactor(MIXED)
    assert dirichlet_factor_of(ex.Box(0.0, 1.0, boundary="periodic")) is None
    assert dirichlet_factor_of(sphere) is None


POINT = (0.5, 1.0, 2.125)


@pytest.mark.usefixtures("float64")
def test_an_offset_is_a_plain_one_near_its_point():
    step = np.random.default_rng(0).normal(size=(20, 3))
    step *= 1e-5 / np.linalg.norm(step, axis=1, keepdims=True)
    y, r = jax.jit(jax.vmap(OffsetFrom(POINT, MIXED)))(jnp.asarray(POINT + step))
    np.testing.assert_allclose(y, step, atol=1e-9)  # the free axis, too: the point is far enough from its faces
    np.testing.assert_allclose(r, 1e-5, rtol=1e-4)
    far = jnp.asarray([-0.9, 0.1, 3.0])
    for everywhere in (OffsetFrom(POINT), OffsetFrom(POINT, ex.Box(-1.0, 5.0, dims=3))):
        np.testing.assert_allclose(everywhere(far)[0], far - jnp.asarray(POINT))
        np.testing.assert_allclose(everywhere(far)[1], np.linalg.norm(far - jnp.asarray(POINT)))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("free", [1.0, 0.01, 2.999, 0.0, 3.0])
def test_offsets_obey_the_boundary_and_have_one_zero(free):
    """Also from points near a free face and on it, where distances stay what they are within a factor of 2.5."""
    point = (0.5, free, 2.125)
    offset, x = OffsetFrom(point, MIXED), jnp.asarray(inside(MIXED.low, MIXED.high))

    def both(x):
        y, r = offset(x)
        return jnp.append(y, r)

    slopes = jax.vmap(jax.jacfwd(both))
    for face in (MIXED.low[1], MIXED.high[1]):
        np.testing.assert_allclose(slopes(x.at[:, 1].set(face))[..., 1], 0, atol=1e-12)
    start, end = (x.at[:, 2].set(face) for face in (MIXED.low[2], MIXED.high[2]))
    np.testing.assert_allclose(jax.vmap(both)(start), jax.vmap(both)(end), atol=1e-12)
    np.testing.assert_allclose(slopes(start), slopes(end), atol=1e-11)
    along = x.at[:, 0].set(0.5).at[:, 2].set(2.125)
    far, r = np.abs(along[:, 1] - free), jax.vmap(offset)(along)[1]
    assert (np.abs(np.log(r / far)) < 0.9).all()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("at", [(0.5, 1.0), (0.999, 0.001), (1.0, 0.0)])
def test_offsets_obey_one_free_face_of_an_axis(at):
    offset = OffsetFrom((*at, 2.125), FACES)
    x = jnp.asarray(inside(FACES.low, FACES.high))
    slopes = jax.vmap(jax.jacfwd(lambda x: jnp.append(*offset(x))))
    for axis, face in ((0, FACES.high[0]), (1, FACES.low[1])):
        np.testing.assert_allclose(slopes(x.at[:, axis].set(face))[..., axis], 0, atol=1e-12)
        place = jnp.asarray((*at, 2.125))
        far = jnp.tile(place, (len(x), 1)).at[:, axis].set(x[:, axis])
        assert (np.abs(np.log(jax.vmap(offset)(far)[1] / np.abs(x[:, axis] - at[axis]))) < 0.9).all()
    if at == (0.5, 1.0):
        near = jnp.asarray((*at, 2.125)) + 1e-5
        np.testing.assert_allclose(offset(near)[0], 1e-5, rtol=1e-3)

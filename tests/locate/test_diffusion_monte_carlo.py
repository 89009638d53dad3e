"""Walkers against known ground states: oscillators, and dense matrices for potentials without a closed form."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.locate.diffusion_monte_carlo import diffusion_monte_carlo, local_form

LAPLACIAN = ex.Laplacian("exact")  # compiles sooner
TOLERANCE = 0.15
WALKERS = 2048


def oscillator(stiffness, middle, diffusion):
    """−D ∇² + Σ k_i (x_i − m_i)², whose ground state is a Gaussian of variances √(D/k)."""
    k, m = (jnp.asarray(part, jnp.float32) for part in (stiffness, middle))
    return -diffusion * LAPLACIAN + ex.Potential(lambda x: jnp.sum(k * (x - m) ** 2))


@cache
def walked(name):
    operator, box = CASES[name]
    return diffusion_monte_carlo(operator, box, jax.random.key(0), WALKERS)


CASES = {
    "on a line": (oscillator([1.0], [0.0], 1.0), ex.Box(-6.0, 6.0)),
    "in a plane, displaced and oblong": (
        oscillator([1.0, 25.0], [2.0, -1.0], 2.0),
        ex.Box([-4.0, -6.0], [9.0, 5.0]),
    ),
    "in ten dimensions": (oscillator([1.0] * 10, [0.0] * 10, 1.0), ex.Box(-6.0, 6.0, dims=10)),
    "periodic along one axis, free along the other": (
        -LAPLACIAN + ex.Potential(lambda x: -40 * jnp.cos(2 * jnp.pi * x[0]) + 5 * x[1]),
        ex.Box(0.0, [1.0, 3.0], boundary=("periodic", "neumann")),
    ),
    "constant": (-LAPLACIAN, ex.Box([-1.0, 0.0, 2.0], [1.0, 3.0, 2.5], boundary=("dirichlet", "neumann", "periodic"))),
}


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("on a line", [0], [1]),
        ("in a plane, displaced and oblong", [2, -1], [2**0.25, (2 / 25) ** 0.25]),
        ("in ten dimensions", [0] * 10, [1] * 10),
    ],
)
def test_walkers_have_the_density_of_an_oscillators_ground_state(name, mean, std):
    x = walked(name).points
    np.testing.assert_allclose((x.mean(0) - mean) / std, 0, atol=TOLERANCE)
    np.testing.assert_allclose(x.std(0), std, rtol=TOLERANCE)
    between = np.corrcoef(x.T) - np.eye(x.shape[1])
    assert np.abs(between).max() < TOLERANCE


@pytest.mark.parametrize(("name", "std"), [("on a line", [1]), ("in ten dimensions", [1] * 10)])
def test_walkers_with_their_descendants_have_the_density_of_its_square(name, std):
    x, descendants, *_ = walked(name)
    assert descendants.sum() == WALKERS
    probability = descendants / WALKERS
    narrower = np.sqrt(probability @ x**2 - (probability @ x) ** 2) / std
    np.testing.assert_allclose(narrower.mean(), np.sqrt(1 / 2), rtol=TOLERANCE)


def dense_ground_state(potential, low, high, periodic):
    """Midpoints of 400 cells and the probability |ψ| of each, with free or periodic ends."""
    cells, width = 400, (high - low) / 400
    x = low + width * (np.arange(cells) + 0.5)
    second = 2 * np.eye(cells) - np.eye(cells, k=1) - np.eye(cells, k=-1)
    second[0, 0] = second[-1, -1] = 2 if periodic else 1
    second[0, -1] = second[-1, 0] = -1 if periodic else 0
    ground = np.abs(np.linalg.eigh(second / width**2 + np.diag(potential(x)))[1][:, 0])
    return x, ground / ground.sum()


def test_walkers_go_around_a_periodic_box():
    x, probability = dense_ground_state(lambda x: -40 * np.cos(2 * np.pi * x), 0.0, 1.0, periodic=True)
    found = walked("periodic along one axis, free along the other").points[:, 0]
    counts, _ = np.histogram(found, bins=8, range=(0, 1))
    np.testing.assert_allclose(counts / WALKERS, probability.reshape(8, -1).sum(1), atol=0.03)
    # The well is at the seam.
    away, distance = ((y + 0.5) % 1 - 0.5 for y in (found, x))
    assert away.mean() == pytest.approx(0, abs=0.03)
    assert away.std() == pytest.approx(np.sqrt(probability @ distance**2), rel=TOLERANCE)


def test_walkers_turn_back_at_a_free_edge():
    x, probability = dense_ground_state(lambda x: 5 * x, 0.0, 3.0, periodic=False)
    found = walked("periodic along one axis, free along the other").points[:, 1]
    assert found.mean() == pytest.approx(probability @ x, rel=TOLERANCE)
    counts, _ = np.histogram(found, bins=6, range=(0, 3))
    np.testing.assert_allclose(counts / WALKERS, probability[:396].reshape(6, -1).sum(1), atol=0.06)


@pytest.mark.parametrize(("low", "pair"), [(0.0, ("neumann", "dirichlet")), (-6.0, ("dirichlet", "neumann"))])
def test_walkers_turn_back_at_one_free_face_of_an_axis(low, pair):
    """Half of an oscillator's ground state, a Gaussian."""
    half = -ex.Laplacian() + ex.Potential(lambda x: x[0] ** 2)
    points = diffusion_monte_carlo(half, ex.Box(low, low + 6, boundary=[pair]), jax.random.key(0), WALKERS).points
    assert np.abs(points).mean() == pytest.approx(np.sqrt(2 / np.pi), rel=TOLERANCE)
    assert np.abs(points).std() == pytest.approx(np.sqrt(1 - 2 / np.pi), rel=TOLERANCE)


def test_walkers_stay_everywhere_where_the_potential_is_constant():
    box = CASES["constant"][1]
    unit = (walked("constant").points - box.low) / (2 * box.half_width)
    error = 4.5 / np.sqrt(len(unit))
    np.testing.assert_allclose(unit.mean(0), 1 / 2, atol=error * np.sqrt(1 / 12))
    np.testing.assert_allclose((unit**2).mean(0), 1 / 3, atol=error * np.sqrt(4 / 45))


@pytest.mark.parametrize("name", CASES)
def test_walkers_stay_inside_and_there_are_as_many_in_the_end(name):
    box, found = CASES[name][1], walked(name)
    for x, count in ((found.points, WALKERS), (found.elsewhere, WALKERS // 2)):
        assert x.shape == (count, len(box.low))
        assert x.dtype == np.float64
        assert ((x >= box.low) & (x <= box.high)).all()


def test_the_same_key_gives_the_same_walkers():
    again = diffusion_monte_carlo(*CASES["on a line"], jax.random.key(0), WALKERS)
    for first, second in zip(walked("on a line"), again, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("diffusion", [2.0, 0.5])
@pytest.mark.parametrize("method", ["forward", "exact", "finite-difference"])
def test_potential_and_diffusion_are_read_off_exactly(diffusion, method):
    operator = -diffusion * ex.Laplacian(method) + 3 * ex.Potential(lambda x: jnp.exp(x[0]) - x[1] ** 2)
    x = np.random.default_rng(0).normal(size=(50, 2))
    potential, read_off = jax.jit(lambda x: local_form(operator, x))(jnp.asarray(x))
    np.testing.assert_allclose(potential, 3 * (np.exp(x[:, 0]) - x[:, 1] ** 2), rtol=1e-12)
    np.testing.assert_allclose(read_off, [diffusion, diffusion], rtol=1e-9)


def test_single_precision_reads_diffusion_under_a_large_potential():
    operator = -2 * ex.Laplacian("exact") + ex.Potential(lambda x: 1e4 + jnp.sum(x**2))
    x = np.random.default_rng(0).normal(size=(2048, 2))
    potential, diffusion = jax.jit(lambda x: local_form(operator, x))(jnp.asarray(x, jnp.float32))
    np.testing.assert_allclose(potential, 1e4 + (x**2).sum(1), rtol=1e-6)
    np.testing.assert_allclose(diffusion, [2, 2], rtol=0.01)


def test_what_does_not_diffuse_still_has_a_positive_diffusion():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(20, 2)), jnp.float32)
    _, diffusion = jax.jit(lambda x: local_form(ex.Potential(lambda x: x[0]), x))(x)
    assert (diffusion > 0).all()
    assert (diffusion < 1e-6).all()


def test_some_points_stay_in_wells_that_are_less_deep():
    """The ground state is on the right; a state 0.3 above it is on the left."""
    two_wells = -0.5 * LAPLACIAN + ex.Potential(
        lambda x: jnp.minimum((x[0] - 4) ** 2 / 2, (x[0] + 4) ** 2 / 2 + 0.3) + x[1] ** 2 / 2
    )
    found = diffusion_monte_carlo(two_wells, ex.Box(-9, 9, dims=2), jax.random.key(0), WALKERS)
    assert (found.points[:, 0] > 0).mean() > 0.99
    assert 0.05 < (found.elsewhere[:, 0] < 0).mean() < 0.5
    assert (found.other_wells[:, 0] < 0).all()
    assert len(found.other_wells) > 40


def test_some_points_come_to_a_hole_that_few_begin_in():
    hole = -0.5 * LAPLACIAN + ex.Potential(
        lambda x: 0.05 * jnp.sum(x**2) - 110 * jnp.exp(-((x[0] - 7) ** 2 + (x[1] - 3) ** 2) / 2 / 0.2**2)
    )
    found = diffusion_monte_carlo(hole, ex.Box(-15, 15, dims=2), jax.random.key(0), WALKERS)
    assert (np.hypot(found.cooled[:, 0] - 7, found.cooled[:, 1] - 3) < 0.3).mean() > 0.05

"""What is large about errors is named: one potential, or one basis, for each cause."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.locate.cause import largest_jump, singular_points, with_likely_cause
from eigenax.solvers.default_parts import network_key

SMALL = ex.RayleighRitz(n_basis=48, max_basis=48, samples=2**11)


def coulomb(*points, declared=()):
    """−∇²/2 and an attractive charge at each point."""
    places = [list(map(float, point)) for point in points]

    def potential(x):
        return -sum(1 / jnp.linalg.norm(x - jnp.asarray(place, x.dtype)) for place in places)

    return -0.5 * ex.Laplacian() + ex.Potential(potential, singularities=declared)


def cause(operator, domain, solver=SMALL):
    """What is said where functions are doubted, here some that nobody has trained."""
    network = ex.MLP(domain.shape[0], 2, width=8, depth=1, key=network_key(0))
    modes = ex.measure(ex.Multiply(ex.DirichletFactor(domain), network), operator, domain, samples=2**10)
    problem = ex.Problem.checked(operator, domain, 2)
    return with_likely_cause(problem, modes, np.ones(2, bool), solver.advice(problem, modes)).note


def test_a_singularity_that_was_forgotten_is_named_and_where_it_is():
    """From a whole run."""
    with pytest.warns(RuntimeWarning) as warned:
        modes = ex.solve(
            coulomb((1.5, -2)), ex.Box(-12, 12, dims=2), 2, solver=SMALL, max_steps=1, tol=1e-6, progress=False
        )
    told = " ".join(str(one.message) for one in warned)
    assert "no finite limit at x = (1.5, -2)" in modes.note
    assert "singularities=[(1.5, -2)]" in modes.note
    assert modes.note in told
    assert modes.note in str(modes)
    # Nothing was trained, and what to do has been said.
    assert "more steps" not in told + str(modes)


def test_a_singularity_that_was_misplaced_is_named():
    right, wrong = (0.0, 0.0, 1.0), (0.0, 0.0, -0.7)
    note = cause(coulomb(right, (0, 0, -1), declared=[right, wrong]), ex.Box(-10, 10, dims=3))
    assert "no finite limit at x = (0, 0, -1), but it has one at the declared (0, 0, -0.7)" in note
    assert "singularities=[(0, 0, 1), (0, 0, -1)]" in note


def test_a_line_of_singularities_is_told_from_points():
    repulsion = ex.Potential(lambda x: jnp.sum(x**2) + 1 / (x[0] - x[1]) ** 2)
    assert "and elsewhere, not at single points" in cause(-ex.Laplacian() + repulsion, ex.Box(-6, 6, dims=2))


def test_a_jump_of_the_potential_is_named():
    well = -ex.Laplacian() + ex.Potential(lambda x: jnp.where(jnp.abs(x[0]) < 1, -50.0, 0.0))
    assert re.search(r"the potential jumps by 50 near x = \(-?1,\)", cause(well, ex.Box(-6, 6)))


@pytest.mark.parametrize(
    ("dims", "advice"),
    [
        (2, "2 functions are too few for these states: take more, RayleighRitz(max_basis=4)"),
        (8, "8 dimensions are many for 2 functions that nothing trains: take SpIN() or NaturalGradient()"),
    ],
)
def test_too_few_functions_and_many_dimensions_are_named_where_nothing_is_trained(dims, advice):
    quartic = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**4 / 4 - x**2))
    assert advice in cause(quartic, ex.Box(-5, 5, dims=dims))
    assert not cause(quartic, ex.Box(-5, 5, dims=dims), ex.SpIN())


@pytest.mark.parametrize(
    ("potential", "found"),
    [
        (lambda x: -1 / np.linalg.norm(x - [3, 1], axis=1), [[3, 1]]),
        (lambda x: 1 / np.abs(x - [[3, 1]]).sum(1) ** 2 - 1 / np.linalg.norm(x + 2, axis=1), [[-2, -2], [3, 1]]),
        (lambda x: -1 / np.sqrt(1e-2 + (x**2).sum(1)), []),
        (lambda x: (x**4).sum(1), []),
        (lambda x: np.where(x[:, 0] < 1, -50.0, 0), []),
        (lambda x: 0 * x[:, 0], []),
    ],
    ids=["charge", "two of them", "soft charge", "quartic", "jump", "constant"],
)
def test_singular_points_are_those_where_a_potential_has_no_limit(potential, found):
    rng = np.random.default_rng(0)
    starts = rng.uniform(-9, 9, (200, 2))
    starts = starts[np.argsort(-np.abs(potential(starts)))[:24]]
    points = singular_points(potential, starts, ex.Box(-9, 9, dims=2), rng)
    np.testing.assert_allclose(sorted(np.round(points, 4).tolist()), found, atol=1e-3)


@pytest.mark.parametrize(
    ("potential", "jump"),
    [
        (lambda x: np.where(x[:, 0] < 1, -50.0, 0), 50),
        (lambda x: np.abs(x[:, 0] - 1), None),
        (lambda x: -60 * np.exp(-((x[:, 0] - 1) ** 2) / 0.02), None),
        (lambda x: 0 * x[:, 0], None),
    ],
    ids=["jump", "kink", "needle", "constant"],
)
def test_a_jump_is_what_does_not_become_smaller_from_closer_by(potential, jump):
    rng = np.random.default_rng(0)
    found = largest_jump(potential, rng.uniform(0.5, 1.5, (24, 2)), ex.Box(-9, 9, dims=2), rng)
    if jump is None:
        assert found is None
    else:
        assert found is not None
        assert found[0][0] == pytest.approx(1, abs=1e-4)
        assert found[1] == pytest.approx(jump)

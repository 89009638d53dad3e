"""The natural gradient: its least squares against dense algebra, no step at a solution, and every kind of operator."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import eigenax as ex
from eigenax.networks.boundary import BoxFactor
from eigenax.solvers.default_parts import network_key
from eigenax.solvers.natural import _least_squares, _Parameters

BOX = ex.Box(-6, 6)
WELL = -ex.Laplacian("exact") + ex.Potential(lambda x: jnp.sum(x**2))


class Hermite(eqx.Module):
    """Mixtures of the first three states of −∇² + x², one row of the matrix for each function."""

    matrix: jax.Array

    def __call__(self, x):
        y = x[0]
        return self.matrix @ (jnp.exp(-(y**2) / 2) * jnp.stack([jnp.ones_like(y), y, 2 * y**2 - 1]))


@pytest.mark.parametrize("shape", [(5, 12), (12, 5)])
def test_least_squares_of_either_gram_matrix_are_those_of_the_stacked_problem(shape, float64):
    rng = np.random.default_rng(0)
    a, b, damping = rng.normal(size=shape), rng.normal(size=shape[0]), 0.3
    weight = np.sqrt(damping * (a**2).sum() / shape[0])
    stacked = np.concatenate([a, weight * np.eye(shape[1])])
    expected = np.linalg.lstsq(stacked, np.concatenate([b, np.zeros(shape[1])]))[0]
    np.testing.assert_allclose(_least_squares(jnp.asarray(a), jnp.asarray(b), damping), expected, rtol=1e-9)


@pytest.mark.parametrize("network", [ex.EnsembleMLP(1, 3, width=8, depth=1, key=network_key(0)), Hermite(jnp.eye(3))])
def test_parameters_come_apart_and_back_together(network):
    parameters = _Parameters(network)
    assert len(parameters.flat) == (3 if isinstance(network, ex.EnsembleMLP) else 1)
    x = jnp.array([0.3])
    np.testing.assert_array_equal(parameters.network(parameters.flat)(x), network(x))
    rows = parameters.jacobian(x[None], 3)
    moved = parameters.network(parameters.flat + 1e-3)(x) - network(x)
    np.testing.assert_allclose(rows.sum(-1).ravel() * 1e-3, moved, atol=1e-4)


@pytest.mark.parametrize("matrix", [np.eye(3), [[2.0, 0, 0], [1, 1, 0], [-1, 3, 0.5]]])
def test_eigenfunctions_stay_on_every_batch(matrix, float64):
    """Also mixed with those before them: the batch's own Λ takes that off exactly."""
    solver = ex.NaturalGradient(orthonormal_pull=0.0)
    state = solver.begin(Hermite(jnp.asarray(matrix)), 3)
    after, info = jax.jit(lambda state, batch: solver.update(WELL, state, batch))(
        state, ex.Uniform(BOX).sample(jax.random.key(0), 64)
    )
    np.testing.assert_allclose(after.network.matrix, matrix, atol=1e-9)
    np.testing.assert_allclose(info.residuals, 0, atol=1e-9)
    assert info.healthy


def test_it_trains_a_separate_network_without_any_finish():
    inputs = ex.ScaledInputs((0.0,), (2.0,))
    inner = ex.Compose(inputs, ex.EnsembleMLP(1, 3, key=network_key(0)))
    network = ex.Multiply(BoxFactor(BOX.low, BOX.high), inner)
    solver = ex.NaturalGradient(finish="eigh")
    modes = ex.solve(WELL, BOX, n=3, network=network, solver=solver, max_steps=200, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, [1, 3, 5], rtol=2e-3)


def test_it_finds_the_largest_eigenvalues_of_a_kernel():
    points = np.random.default_rng(0).normal(size=(600, 1)).astype(np.float32)
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2))
    modes = ex.solve(
        kernel,
        ex.Arrays(points),
        n=3,
        which="largest",
        network=ex.EnsembleMLP(1, 3, key=network_key(0)),
        solver=ex.NaturalGradient(),
        max_steps=200,
        progress=False,
    )
    matrix = np.exp(-((points - points.T) ** 2) / 2) / 600
    np.testing.assert_allclose(modes.eigenvalues, scipy.linalg.eigvalsh(matrix)[::-1][:3], rtol=0.03)


@pytest.mark.slow
def test_it_finds_the_slowest_feature_of_a_series():
    t = np.arange(4000)
    slow, fast = np.sin(t / 40), np.sin(t / 2)
    series = np.stack([slow + fast, fast], 1)
    network = ex.WithConstant(ex.EnsembleMLP(2, 1, key=network_key(0)))
    modes = ex.solve(
        ex.Slowness(),
        ex.TimeSeries(series),
        n=2,
        network=network,
        solver=ex.NaturalGradient(samples=4096),
        max_steps=100,
        progress=False,
    )
    found = np.asarray(modes(series))[:, 1]
    assert modes.eigenvalues[0] == pytest.approx(0, abs=1e-6)
    assert abs(np.corrcoef(found, slow)[0, 1]) > 0.95

"""The solver that is chosen where none is given."""

import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.assemble import prepared
from eigenax.solvers.default_parts import network_key

ROWS, IMAGES = np.random.default_rng(0).normal(size=(40, 2)), np.random.default_rng(1).normal(size=(40, 1, 8, 8))
WELL = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
KERNEL = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
FIVE, TWENTY = (ex.Box(-6, 6, dims=dims) for dims in (5, 20))
LINE, EDGES = ex.Box(-1, 1), np.stack([np.arange(39), np.arange(1, 40)], 1)


@pytest.mark.parametrize(
    ("operator", "source", "which", "name"),
    [
        (WELL, LINE, "smallest", "RayleighRitz"),
        (WELL, FIVE, "smallest", "WavesThenTraining"),
        (WELL, TWENTY, "smallest", "RayleighGaussNewton"),
        (WELL, ex.Adaptive(FIVE), "smallest", "SpIN"),
        (-ex.LaplaceBeltrami(ex.sphere().embedding), ex.sphere(), "smallest", "RayleighRitz"),
        (KERNEL, ex.Arrays(ROWS), "largest", "RayleighRitz"),
        (KERNEL, ex.Gaussian(0.0, 1.0, dims=2), "largest", "RayleighRitz"),
        (ex.Slowness(), ex.TimeSeries(ROWS), "smallest", "RayleighRitz"),
        (ex.GraphLaplacian(), ex.Graph(EDGES, features=ROWS), "smallest", "RayleighRitz"),
        (WELL, ex.Adaptive(LINE), "smallest", "SpIN"),
        (KERNEL, ex.Arrays(IMAGES), "largest", "SpIN"),
        (ex.Slowness(), ex.TimeSeries(IMAGES), "smallest", "SpIN"),
        (ex.Slowness(), ex.TimeSeries(ROWS), "largest", "SpIN"),
        (ex.Potential(lambda x: x[0]), LINE, "smallest", "SpIN"),
    ],
)
def test_the_first_that_can_is_taken(operator, source, which, name):
    problem = ex.Problem.checked(operator, source, 2, which=which)
    assert ex.AutoSolver().resolved(problem).name == name


def test_a_network_is_trained_and_refused_if_it_does_not_fit():
    network = ex.Multiply(ex.DirichletFactor(LINE), ex.MLP(1, 2, width=8, depth=1, key=network_key(0)))
    solver, problem = prepared(ex.Problem.checked(WELL, LINE, 2, network=network), ex.AutoSolver())
    assert solver.name == "SpIN"
    assert problem.network is not None
    with pytest.raises(ValueError, match="network must return n = 3 values"):
        prepared(ex.Problem.checked(WELL, LINE, 3, network=network), ex.AutoSolver())

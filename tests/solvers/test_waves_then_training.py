"""Waves where they are enough, and a trained network where they are not."""

import jax.numpy as jnp
import numpy as np

import eigenax as ex
from eigenax.assemble import prepared
from eigenax.core.random_streams import Stream, stream
from eigenax.solvers.rayleigh_ritz import RayleighRitz
from eigenax.solvers.waves_then_training import WavesThenTraining

SOLVER = WavesThenTraining(
    RayleighRitz(n_basis=64, max_basis=64, samples=2**12), ex.RayleighGaussNewton(batch=256, samples=2**10, log_every=2)
)


def operator_of(potential):
    return -ex.Laplacian() + ex.Potential(potential)


def test_the_first_basis_decides_and_a_checkpoint_holds_both_stages():
    wells = operator_of(lambda x: jnp.sum(2 * (x**2 - 1) ** 2))
    solver, problem = prepared(ex.Problem.checked(wells, ex.Box(-3.5, 3.5, dims=4), 2, progress=False), SOLVER)
    key = stream(0, Stream.TRAINING)
    state, info = solver.step(problem, solver.init(problem, key), key)
    assert state.training is not None
    assert info.finished is None
    assert solver.modes(problem, state).solver == "RayleighRitz"  # nothing is trained yet
    state, _ = solver.step(problem, state, key)
    assert (state.step, int(state.training.step)) == (3, 2)
    saved = solver.saved(state)
    again = solver.restored(problem, key, saved.about, lambda like: saved.arrays)
    assert again.step == 3
    there, here = (solver.step(problem, one, key)[1].metrics["eigenvalues"] for one in (again, state))
    np.testing.assert_array_equal(there, here)


def test_waves_go_on_where_they_are_promising():
    well = operator_of(lambda x: jnp.sum(x**2))
    problem = ex.Problem.checked(well, ex.Box(-4, 4, dims=4), 1, tol=0.05, progress=False)
    solver, problem = prepared(problem, SOLVER)
    key = stream(0, Stream.TRAINING)
    state, _ = solver.step(problem, solver.init(problem, key), key)
    assert state.training is None
    assert solver.modes(problem, state).solver == "RayleighRitz"

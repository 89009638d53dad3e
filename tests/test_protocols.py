"""What the trunk promises to parts that are still to come: a stub of each, on problems with closed forms."""

import dataclasses
import itertools
import json
import os
import signal
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.rayleigh import Moments, second_moment
from eigenax.io.checkpoint import checkpoints
from eigenax.solvers.default_parts import network_key

WELL = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2))
LINE = ex.Box(-6, 6)


class DirichletEnergy(ex.WeakOperator):
    """∫ ∇u·∇u, which has no K u."""

    local: ClassVar[bool] = True
    unbounded: ClassVar[int] = 1

    def moments(self, function, batch):
        u, slopes = jax.vmap(function)(batch.x), jax.vmap(jax.jacfwd(function))(batch.x)
        pi = sum(second_moment(slope, slope, batch.weights) for slope in jnp.moveaxis(slopes, -1, 0))
        return Moments(second_moment(u, u, batch.weights), jnp.asarray(pi), None)


def test_an_operator_in_its_weak_form():
    box = ex.Box(0, 1, boundary="neumann")
    modes = ex.solve(DirichletEnergy(), box, 3, max_steps=1, progress=False)
    exact = (np.pi * np.arange(3)) ** 2
    assert np.abs(modes.eigenvalues - exact).max() < 1e-2
    assert (np.abs(modes.eigenvalues - exact) < 3 * modes.standard_errors).all()
    assert np.isnan(modes.residuals).all()
    x = np.linspace(0, 1, 11)[:, None]
    np.testing.assert_allclose(np.abs(modes(x)[:, 1]), np.sqrt(2) * np.abs(np.cos(np.pi * x[:, 0])), atol=1e-2)


def test_a_weak_form_can_be_added_to_and_is_refused_where_k_u_is_needed():
    box = ex.Box(0, 1, boundary="neumann")
    raised = DirichletEnergy() + ex.Potential(lambda x: jnp.asarray(2.0))
    modes = ex.solve(raised, box, 2, max_steps=1, progress=False)
    np.testing.assert_allclose(modes.eigenvalues, [2, 2 + np.pi**2], atol=1e-2)
    with pytest.raises(ValueError, match=r"SpIN trains .* weak form.*RayleighRitz"):
        ex.solve(DirichletEnergy(), box, 2, solver=ex.SpIN(), progress=False)


def test_a_weak_form_with_a_basis_of_unknown_score_goes_on_to_the_same_bits(tmp_path):
    """So few waves leave no error estimate: any other basis is better, also after a break."""

    def run(**settings):
        box, solver = ex.Box(0, 1, boundary="neumann"), ex.RayleighRitz(n_basis=8)
        return ex.solve(DirichletEnergy(), box, 3, solver=solver, max_steps=2, progress=False, **settings)

    def press_ctrl_c(snapshot):
        if snapshot.step == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(ex.InterruptedRun, match="step 1 of 2"):
        run(checkpoint_dir=tmp_path, callbacks=[press_ctrl_c])
    np.testing.assert_array_equal(run(checkpoint_dir=tmp_path).eigenvalues, run().eigenvalues)


class FluxThroughARing(ex.Operator):
    """(−i d/dx − A)² u, whose eigenvalues on a circle are (k − A)²."""

    flux: float = eqx.field(static=True)
    wants_boundary: ClassVar[bool] = True
    unbounded: ClassVar[int] = 1
    complex: ClassVar[bool] = True

    def apply(self, function, batch, u):
        def momentum(f):
            def p(x):
                slope = [jax.jacfwd(lambda y, part=part: part(f(y)))(x)[:, 0] for part in (jnp.real, jnp.imag)]
                return slope[1] - 1j * slope[0] - self.flux * f(x)

            return p

        return jax.vmap(momentum(momentum(function)))(batch.x)


def test_a_complex_hermitian_operator(tmp_path):
    ring = ex.Box(0, 2 * np.pi, boundary="periodic")
    modes = ex.solve(FluxThroughARing(0.3), ring, 3, max_steps=1, progress=False)
    exact = np.array([0.3**2, 0.7**2, 1.3**2])
    assert np.abs(modes.eigenvalues - exact).max() < 1e-7
    assert (np.abs(modes.eigenvalues - exact) < 3 * modes.standard_errors).all()
    x = np.linspace(0, 6, 50)[:, None]
    v = modes(x)
    for k, wave in enumerate((0, 1, -1)):  # each is e^{ikx} up to a phase
        turned = v[:, k] * np.exp(-1j * wave * x[:, 0])
        np.testing.assert_allclose(turned, turned[0] * np.ones(50), atol=1e-3)
    modes.save(tmp_path / "modes.safetensors")
    np.testing.assert_array_equal(ex.load(tmp_path / "modes.safetensors")(x), v)


class Metropolis(ex.Sampler):
    """One Markov chain for each point, with the density of Σ v² of the functions as they are."""

    of: ex.Source

    @property
    def source(self) -> Any:
        return self.of

    def init(self, functions, key, size):
        return self.of.sample(key, size).x

    def draw(self, state, functions, key, size):
        for_step, for_choice = jax.random.split(key)
        proposed = jnp.clip(state + 0.5 * jax.random.normal(for_step, state.shape, state.dtype), -6, 6)
        before, after = ((jax.vmap(functions)(x) ** 2).sum(1) + 1e-3 for x in (state, proposed))
        taken = jax.random.uniform(for_choice, (size,)) * before < after
        x = jnp.where(taken[:, None], proposed, state)
        density = jnp.where(taken, after, before)
        return x, ex.Points(x, 1 / density / jnp.mean(1 / density))


def small_network():
    return ex.Multiply(ex.DirichletFactor(LINE), ex.MLP(1, 2, width=16, depth=2, key=network_key(0)))


def markov_chains(**settings):
    solver = ex.SpIN(batch=256, samples=2**12, log_every=20)
    source = Metropolis(ex.Uniform(LINE))
    return ex.solve(WELL, source, 2, solver=solver, network=small_network(), max_steps=60, progress=False, **settings)


def test_a_sampler_with_a_state_is_saved_with_the_run_and_goes_on_to_the_same_bits(tmp_path):
    seen = []

    def press_ctrl_c(snapshot):
        seen.append(np.asarray(snapshot.state.sampler))
        if snapshot.step == 40:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(ex.InterruptedRun, match="stopped at step 40 of 60"):
        markov_chains(checkpoint_dir=tmp_path, callbacks=[press_ctrl_c])
    assert all((a != b).mean() > 0.5 for a, b in itertools.pairwise(seen))  # chains move
    again, whole = markov_chains(checkpoint_dir=tmp_path), markov_chains()
    np.testing.assert_array_equal(again.eigenvalues, whole.eigenvalues)
    np.testing.assert_array_equal(again.coefficients, whole.coefficients)


class Stages(NamedTuple):
    """The state of a solver in two stages."""

    stage: int
    inner: Any
    step: int


class WavesThenTraining(ex.Solver):
    """Rayleigh–Ritz with a few waves, and then a network that is trained."""

    updates: int = 40

    def why_not(self, problem):
        return ex.RayleighRitz().why_not(problem)

    def init(self, problem, key):
        return Stages(0, self._solver(0).init(problem, key), 0)

    def step(self, problem, state, key):
        at = self._problem(problem, state.stage)
        inner, info = self._solver(state.stage).step(at, state.inner, key)
        if state.stage == 1:
            return Stages(1, inner, state.step + 1), info
        after = self._solver(1).init(self._problem(problem, 1), key)
        return Stages(1, after, state.step + 1), ex.Info(info.metrics)

    def modes(self, problem, state):
        return self._solver(state.stage).modes(self._problem(problem, state.stage), state.inner)

    def total(self, problem, state):
        return 1 + self.updates // 20

    def saved(self, state):
        inner = self._solver(state.stage).saved(state.inner)
        return ex.SavedState((inner.arrays, np.asarray(state.step)), {"stage": state.stage, "inner": inner.about})

    def restored(self, problem, key, about, load):
        found: dict[str, Any] = {}

        def load_inner(like):
            arrays, found["step"] = load((like, np.asarray(0)))
            return arrays

        stage = about["stage"]
        inner = self._solver(stage).restored(self._problem(problem, stage), key, about["inner"], load_inner)
        return Stages(stage, inner, int(found["step"]))

    def _solver(self, stage: int) -> Any:
        training = ex.NaturalGradient(batch=64, samples=2**12, log_every=20)
        return ex.RayleighRitz(n_basis=32, samples=2**12) if stage == 0 else training

    def _problem(self, problem, stage: int) -> Any:
        if stage == 0:
            return dataclasses.replace(problem, max_steps=1)
        return dataclasses.replace(problem, max_steps=self.updates, network=small_network())


def test_a_solver_in_two_stages_is_resumed_in_the_second(tmp_path):
    def run(**settings):
        return ex.solve(WELL, LINE, 2, solver=WavesThenTraining(), progress=False, **settings)

    whole = run(checkpoint_dir=tmp_path)
    np.testing.assert_allclose(whole.eigenvalues, [1, 3], rtol=0.1)
    assert [json.loads(line)["step"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()] == [1, 2, 3]
    checkpoints(tmp_path / "checkpoints")[-1].unlink()
    again = run(checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(again.eigenvalues, whole.eigenvalues)


class Counting(NamedTuple):
    """A state with plain numbers in it."""

    values: Any
    halved: float
    step: int


class HalvingSolver(ex.Solver):
    """A stranger's: the functions of the first basis, found at the end; the state is plain numbers but for one."""

    def why_not(self, problem):
        return None

    def init(self, problem, key):
        return Counting(jax.random.normal(key, (3,)), 1.0, 0)

    def step(self, problem, state, key):
        after = state.values + jax.random.normal(jax.random.fold_in(key, state.step), (3,))
        return Counting(after, state.halved / 2, state.step + 1), ex.Info({"halved": state.halved / 2})

    def modes(self, problem, state):
        return ex.measure(small_network(), problem.operator, problem.source, samples=2**10)

    def total(self, problem, state):
        return 4


def test_numbers_of_a_state_are_saved_as_arrays_are(tmp_path):
    def run(last, **settings):
        return ex.solve(WELL, LINE, 2, solver=HalvingSolver(), progress=False, callbacks=[last.append], **settings)

    whole, begun, again, ended = [], [], [], []
    run(whole)

    def press_ctrl_c(snapshot):
        if snapshot.step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    begun_and_stopped = {"solver": HalvingSolver(), "progress": False, "callbacks": [begun.append, press_ctrl_c]}
    with pytest.raises(ex.InterruptedRun, match="step 2 of 4"):
        ex.solve(WELL, LINE, 2, checkpoint_dir=tmp_path, **begun_and_stopped)
    run(again, checkpoint_dir=tmp_path)
    assert [snapshot.step for snapshot in again] == [2, 3, 4]
    assert again[-1].state[1:] == whole[-1].state[1:] == (1 / 16, 4)
    np.testing.assert_array_equal(again[-1].state.values, whole[-1].state.values)
    assert run(ended, checkpoint_dir=tmp_path).steps == 4
    assert [snapshot.step for snapshot in ended] == [4]


def test_operator_and_source_are_looked_at_whatever_the_solver():
    nowhere = -ex.Laplacian() + ex.Potential(lambda x: jnp.log(x[0]))
    with pytest.raises(ValueError, match="the function returned nan at x = "):
        ex.solve(nowhere, LINE, 2, solver=HalvingSolver(), progress=False)


class Drift(ex.Operator):
    """4 u′, which is not symmetric under the uniform density."""

    wants_boundary: ClassVar[bool] = True

    def apply(self, function, batch, u):
        return 4 * jax.vmap(jax.jacfwd(function))(batch.x)[..., 0]


def test_an_operator_that_is_not_symmetric_is_told_of_and_its_errors_are_large():
    """−u″ + 4 u′ has the eigenvalues 4 + (kπ)², and not the 10.05, 40.1 that symmetric combinations have."""
    with pytest.warns(RuntimeWarning, match=r"not symmetric under this source: .*differ by"):
        modes = ex.solve(-ex.Laplacian() + Drift(), ex.Box(0, 1), 2, max_steps=1, progress=False)
    assert (np.abs(modes.eigenvalues - 4 - (np.pi * np.arange(1, 3)) ** 2) < 3 * modes.standard_errors).all()
    assert modes.unconverged.all()

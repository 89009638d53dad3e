"""The alternatives to SpIN on a small matrix and on a string fixed at both ends, whose modes are known."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import eigenax as ex
from eigenax.core.rayleigh import quotient, residual, second_moment
from eigenax.networks.boundary import BoxFactor
from eigenax.solvers.alternatives import AugmentedLagrangian, Sequential, Trace

STATES, MODES = 5, 3


def small_matrix():
    """A 5×5 symmetric matrix, and its eigenvalues as an operator under the uniform distribution on five states."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(STATES, STATES))
    return a + a.T, np.linalg.eigvalsh(a + a.T) / STATES


class OnAllStates(ex.Operator):
    """K u(i) = mean over j of A_ij u(j), for batches that hold every state once: exact expectations."""

    matrix: jax.Array

    def apply(self, function, batch, u):
        return self.matrix @ u / STATES


class Rows(ex.Network):
    """Functions on states, a row of parameters for each; points are one-hot vectors."""

    table: jax.Array

    def __call__(self, x):
        return self.table @ x

    @property
    def separate(self):
        return True


ALL = ex.Points(jnp.eye(STATES), jnp.ones(STATES))


def rows(outputs=MODES):
    return Rows(jax.random.normal(jax.random.key(1), (outputs, STATES)))


def operator(sign=1):
    return OnAllStates(jnp.asarray(sign * small_matrix()[0], jnp.float32))


def run(solver, sign=1, steps=3000):
    return _run(solver, operator(sign), solver.begin(rows(), MODES), steps)


@eqx.filter_jit
def _run(solver, operator, state, steps):
    return jax.lax.scan(lambda s, _: solver.update(operator, s, ALL), state, length=steps)


@eqx.filter_jit
def update(solver, operator, state, batch):
    return solver.update(operator, state, batch)


def ordered_quotients(state):
    """Λ_kk of the functions in the order they came, from exact expectations."""
    modes, _ = np.linalg.qr(np.asarray(state.network.table, np.float64).T)
    return np.diag(modes.T @ small_matrix()[0] @ modes) / STATES


@pytest.mark.parametrize("rescale", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_trace_finds_the_span_and_its_rotation_the_modes_but_not_their_order(sign, rescale):
    exact = small_matrix()[1][::sign][:MODES]
    state, info = run(Trace(optax.sgd(0.1), rescale=rescale), sign)
    np.testing.assert_allclose(sign * info.eigenvalues[-1], exact, atol=1e-5)
    assert float(info.residuals[-1].max()) < 1e-4
    assert np.abs(ordered_quotients(state) - exact).max() > 0.1
    assert np.sum(ordered_quotients(state)) == pytest.approx(exact.sum(), abs=1e-5)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_after_the_other_finds_the_modes_in_order(sign):
    exact = small_matrix()[1][::sign][:MODES]
    state, info = run(Sequential(optax.sgd(0.3), steps_per_mode=1000), sign)
    np.testing.assert_allclose(ordered_quotients(state), exact, atol=1e-5)
    np.testing.assert_allclose(sign * info.eigenvalues[-1], exact, atol=1e-5)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_augmented_lagrangian_finds_the_modes_in_order_orthonormal_and_its_dual_variables_their_eigenvalues(sign):
    exact = small_matrix()[1][::sign][:MODES]
    state, info = run(AugmentedLagrangian(optax.sgd(0.3), dual_rate=0.1, barrier=2.0), sign)
    np.testing.assert_allclose(ordered_quotients(state), exact, atol=1e-4)
    np.testing.assert_allclose(sign * info.eigenvalues[-1], exact, atol=1e-4)
    np.testing.assert_allclose(state.network.table @ state.network.table.T / STATES, np.eye(MODES), atol=1e-3)
    dual, barrier = state.more
    np.testing.assert_allclose(dual, np.diag(-sign * exact / np.abs(exact).max()), atol=1e-3)
    assert float(barrier) > 2.0


def moments(network):
    u = jax.vmap(network)(ALL.x)
    return second_moment(u, u, ALL.weights), second_moment(u, operator().apply(network, ALL, u), ALL.weights)


def one_step(solver):
    """How a step of gradient descent at learning rate one changes the parameters."""
    state = solver.begin(rows(), MODES)
    return state.network.table - solver.update(operator(), state, ALL)[0].network.table


def test_the_trace_descends_the_gradient_of_the_trace():
    def trace(network):
        sigma, pi = moments(network)
        return jnp.trace(jnp.linalg.solve(sigma, pi))

    expected = eqx.filter_grad(trace)(rows()).table / 2
    np.testing.assert_allclose(
        one_step(Trace(optax.sgd(1.0), orthonormal_pull=0.0, rescale=False)), expected, rtol=1e-3, atol=1e-5
    )


def test_the_augmented_lagrangian_descends_what_it_says_it_does():
    barrier, scale = 1.7, jnp.abs(jnp.diag(quotient(*moments(rows())).matrix)).max()

    def lagrangian(network):
        _, pi = moments(network)
        u = jax.vmap(network)(ALL.x)
        half = second_moment(u, jax.lax.stop_gradient(u), ALL.weights)
        return jnp.trace(pi) / scale / 2 + barrier * jnp.sum(jnp.tril(half - jnp.eye(MODES)) ** 2) / 2

    expected = eqx.filter_grad(lagrangian)(rows()).table
    solver = AugmentedLagrangian(optax.sgd(1.0), barrier=barrier)
    np.testing.assert_allclose(one_step(solver), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("other", [Trace(optax.sgd(0.1), ema_rate=0.5), Sequential(optax.sgd(0.1), 10, ema_rate=0.5)])
def test_a_single_function_learns_as_with_spin(other):
    network = ex.EnsembleMLP(2, 1, width=8, depth=1, key=jax.random.key(0))
    energy = -ex.Laplacian("exact") + ex.Potential(lambda x: jnp.sum(x**2))
    solvers = ex.SpIN(optax.sgd(0.1), ema_rate=0.5), other
    states = [solver.begin(network, 1) for solver in solvers]
    for seed in range(3):
        batch = ex.Uniform(ex.Box(-1, 1, dims=2)).sample(jax.random.key(seed), 32)
        steps = [eqx.filter_jit(s.update)(energy, state, batch) for s, state in zip(solvers, states, strict=True)]
        states = [state for state, _ in steps]
        np.testing.assert_allclose(steps[0][1].eigenvalues, steps[1][1].eigenvalues, rtol=1e-5)
    for a, b in zip(*(jax.tree.leaves(state.network) for state in states), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_only_the_function_whose_turn_it_is_moves_even_under_momentum():
    solver = Sequential(optax.adam(1e-2), steps_per_mode=4)
    state = solver.begin(rows(), MODES)
    for step in range(4 * MODES + 3):
        after, _ = solver.update(operator(), state, ALL)
        moved = np.abs(after.network.table - state.network.table).max(1) > 0
        np.testing.assert_array_equal(moved, np.arange(MODES) == min(step // 4, MODES - 1))
        state = after


def test_the_optimiser_and_its_schedule_begin_anew_with_each_turn():
    solver = Sequential(optax.adam(optax.exponential_decay(1e-2, 3, 1e-9)), steps_per_mode=3)
    state = solver.begin(rows(), MODES)
    for step in range(3 * MODES):
        after, _ = solver.update(operator(), state, ALL)
        largest = np.abs(after.network.table - state.network.table).max()
        assert (largest == pytest.approx(1e-2, rel=1e-3)) == (step % 3 == 0)  # Adam's first step is the learning rate
        state = after


def test_a_constant_first_function_has_no_parameters_to_learn_and_keeps_its_turn():
    network = ex.WithConstant(rows(2))
    solver = Sequential(optax.adam(1e-2), steps_per_mode=1)
    state = solver.begin(network, MODES)
    for expected in ([False, False], [True, False], [False, True]):
        after, _ = solver.update(operator(), state, ALL)
        moved = np.abs(after.network.network.table - state.network.network.table).max(1) > 0
        np.testing.assert_array_equal(moved, expected)
        state = after


def test_residuals_are_root_mean_squares_over_the_weights():
    solver = Sequential(optax.sgd(0.0), 10)
    batch = ex.Points(jnp.eye(STATES), jnp.asarray([0.5, 1.5, 1.0, 0.2, 1.8]))
    _, info = solver.update(operator(), solver.begin(rows(), MODES), batch)
    u = jax.vmap(rows())(batch.x)
    ku = operator().apply(rows(), batch, u)
    _, r = residual(u, ku, quotient(second_moment(u, u, batch.weights), second_moment(u, ku, batch.weights)))
    np.testing.assert_allclose(info.residuals, np.sqrt(np.average(r**2, axis=0, weights=batch.weights)), rtol=1e-4)


STEPS = 1500
RATE = optax.exponential_decay(1e-2, STEPS, 1e-2)
TURN = optax.exponential_decay(1e-2, STEPS // 2, 1e-2)


@pytest.mark.parametrize(
    ("solver", "finish"),
    [
        (Trace(optax.adam(RATE), ema_rate=ex.ema_schedule(RATE)), "eigh"),
        (Sequential(optax.adam(TURN), STEPS // 2, ema_rate=ex.ema_schedule(TURN)), "cholesky"),
        (AugmentedLagrangian(optax.adam(RATE), ema_rate=ex.ema_schedule(RATE), dual_rate=RATE), "cholesky"),
    ],
    ids=["trace", "sequential", "lagrangian"],
)
def test_a_string_fixed_at_both_ends_from_samples(solver, finish):
    box = ex.Box(0, 1, dims=1)
    inside = ex.EnsembleMLP(1, 2, width=16, depth=2, key=jax.random.key(0))
    network = ex.Multiply(BoxFactor(box.low, box.high), ex.Compose(ex.ScaledInputs((0.5,), (0.25,)), inside))
    solver = dataclasses.replace(solver, batch=64, samples=2**15, finish=finish)
    # A tol, for training not to end where the residuals of functions that wait for their turn do not fall.
    settings = {"network": network, "solver": solver, "max_steps": STEPS, "tol": 1e-9, "progress": False}
    with pytest.warns(RuntimeWarning, match="tol = 1e-09 was not reached"):
        modes = ex.solve(-ex.Laplacian(), box, 2, **settings)
    assert modes.steps == STEPS
    np.testing.assert_allclose(modes.eigenvalues, (np.pi * np.arange(1, 3)) ** 2, rtol=1e-2)


@pytest.mark.parametrize("solver", [Trace(optax.sgd(0.1)), AugmentedLagrangian(optax.sgd(0.1))])
def test_a_failed_cholesky_is_reported_not_hidden(solver):
    network = Rows(jnp.zeros((MODES, STATES)))
    assert not update(solver, operator(), solver.begin(network, MODES), ALL)[1].healthy


def test_functions_that_share_parameters_cannot_learn_one_after_the_other():
    with pytest.raises(ValueError, match="parameters of its own"):
        Sequential(optax.sgd(0.1), 10).begin(ex.MLP(2, MODES, key=jax.random.key(0)), MODES)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Trace(optax.sgd(0.1), ema_rate=0.0), "ema_rate"),
        (lambda: Sequential(optax.sgd(0.1), 0), "steps_per_mode"),
        (lambda: AugmentedLagrangian(optax.sgd(0.1), ema_rate=1.5), "ema_rate"),
        (lambda: AugmentedLagrangian(optax.sgd(0.1), barrier=0.0), "barrier"),
    ],
)
def test_settings_that_make_no_sense_are_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("kind", [Trace, AugmentedLagrangian])
def test_a_learning_rate_is_no_optimiser(kind):
    with pytest.raises(TypeError, match="optimizer must be an optax optimiser"):
        kind(1e-3)

"""SpIN on matrices small enough to know everything about them."""

import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import eigenax as ex
from eigenax.core.rayleigh import second_moment
from eigenax.solvers.schedules import ema_schedule, second_moment_decay

STATES, MODES = 5, 3


def small_matrix():
    """A 5×5 symmetric matrix, and its eigenvalues as an operator under the uniform distribution on five states."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(STATES, STATES))
    matrix = a + a.T
    return jnp.asarray(matrix, jnp.float32), np.linalg.eigvalsh(matrix) / STATES


class OnAllStates(ex.Operator):
    """K u(i) = mean over j of A_ij u(j), for batches that hold every state once: exact expectations."""

    matrix: jax.Array

    def apply(self, function, batch, u):
        return self.matrix @ u / STATES


class Linear(eqx.Module):
    """Functions on states, one parameter for each value: points are one-hot vectors."""

    table: jax.Array

    def __call__(self, x):
        return x @ self.table


def linear(seed=1):
    return Linear(jax.random.normal(jax.random.key(seed), (STATES, MODES)))


def run(solver, operator, network, batches):
    state = solver.begin(network, MODES)
    return jax.jit(lambda s, b: jax.lax.scan(lambda s, b: solver.update(operator, s, b), s, b))(state, batches)


def ordered_quotients(network, matrix):
    """Λ_kk with exact expectations."""
    modes, _ = np.linalg.qr(np.asarray(network.table, np.float64))
    return np.diag(modes.T @ np.asarray(matrix, np.float64) @ modes) / STATES


@pytest.mark.parametrize("average", ["moments", "jacobian"])
@pytest.mark.parametrize("which", ["smallest", "largest"])
def test_small_matrix_with_exact_expectations(average, which):
    matrix, exact = small_matrix()
    sign = 1 if which == "smallest" else -1
    steps = 3000
    batches = ex.Points(jnp.broadcast_to(jnp.eye(STATES), (steps, STATES, STATES)), jnp.ones((steps, STATES)))
    solver = ex.SpIN(optax.sgd(0.3), average=average, ema_rate=1.0)
    state, info = run(solver, sign * OnAllStates(matrix), linear(), batches)
    np.testing.assert_allclose(ordered_quotients(state.network, matrix), exact[::sign][:MODES], atol=1e-5)
    np.testing.assert_allclose(sign * info.eigenvalues[-1], exact[::sign][:MODES], atol=1e-5)


@pytest.mark.parametrize("average", ["moments", "jacobian"])
def test_small_matrix_from_samples(average):
    matrix, exact = small_matrix()
    kernel = ex.Kernel(lambda x, y: x @ matrix @ y)
    steps, size = 6000, 16
    states = jax.random.randint(jax.random.key(3), (steps, size), 0, STATES)
    batches = ex.Points(jax.nn.one_hot(states, STATES), jnp.ones((steps, size)))
    learning_rate = optax.exponential_decay(3e-2, steps, 1e-2)
    solver = ex.SpIN(optax.adam(learning_rate), average=average, ema_rate=ema_schedule(learning_rate))
    state, _ = run(solver, kernel, linear(), batches)
    np.testing.assert_allclose(ordered_quotients(state.network, matrix), exact[:MODES], atol=0.1)


def random_batch(size=32):
    return ex.Uniform(ex.Box(-1, 1, dims=2)).sample(jax.random.key(5), size)


@pytest.mark.parametrize("rescale", [True, False])
@pytest.mark.parametrize("kind", [ex.MLP, ex.EnsembleMLP])
def test_without_memory_both_averages_take_the_same_step(kind, rescale):
    network = kind(2, MODES, width=8, depth=1, key=jax.random.key(0))
    operator = -ex.Laplacian("exact") + ex.Potential(lambda x: jnp.sum(x**2))
    first, second = (
        solver.update(operator, solver.begin(network, MODES), random_batch())[0]
        for solver in (
            ex.SpIN(optax.sgd(1e-2), average="moments", rescale=rescale, orthonormal_pull=0.3),
            ex.SpIN(optax.sgd(1e-2), average="jacobian", rescale=rescale, orthonormal_pull=0.3),
        )
    )
    for a, b in zip(jax.tree.leaves(first.network), jax.tree.leaves(second.network), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_averages_start_at_the_identity_and_move_with_the_rate():
    network = ex.MLP(2, MODES, width=8, depth=1, key=jax.random.key(0))
    solver = ex.SpIN(optax.sgd(0.0), ema_rate=0.25)
    state = solver.begin(network, MODES)
    np.testing.assert_array_equal(state.sigma, np.eye(MODES))
    batch = random_batch()
    after, info = solver.update(ex.Potential(lambda x: x[0]), state, batch)
    u = jax.vmap(network)(batch.x)
    np.testing.assert_allclose(after.sigma, 0.75 * np.eye(MODES) + 0.25 * second_moment(u, u, batch.weights), rtol=1e-5)
    assert float(info.ema_rate) == 0.25
    assert int(after.step) == 1


def test_jacobian_memory_of_separate_networks_is_n_times_the_parameters():
    network = ex.EnsembleMLP(2, MODES, width=8, depth=1, key=jax.random.key(0))
    parameters = sum(p.size for p in jax.tree.leaves(network))
    solver = ex.SpIN(optax.sgd(1e-2), average="jacobian")
    assert sum(t.size for t in jax.tree.leaves(solver.begin(network, MODES).more)) == MODES * parameters
    moments = ex.SpIN(optax.sgd(1e-2)).begin(network, MODES)
    assert moments.pi.size == MODES**2


def test_a_failed_cholesky_is_reported_not_hidden():
    network = Linear(jnp.zeros((STATES, MODES)))
    solver = ex.SpIN(optax.sgd(1e-2), ema_rate=1.0)
    batch = ex.Points(jnp.eye(STATES), jnp.ones(STATES))
    _, info = solver.update(OnAllStates(jnp.eye(STATES)), solver.begin(network, MODES), batch)
    assert not info.healthy


@pytest.mark.parametrize(
    ("optimizer", "decay"),
    [
        (optax.rmsprop(1e-3, decay=0.99), 0.99),
        (optax.adam(1e-3, b2=0.9), 0.9),
        (optax.adamw(1e-3), 0.999),
        (optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_rms(0.95), optax.scale(-1e-3)), 0.95),
        (optax.sgd(1e-2, momentum=0.9), None),
    ],
)
def test_second_moment_decay_is_found_in_any_optimiser(optimizer, decay):
    assert second_moment_decay(optimizer) == (decay if decay is None else pytest.approx(decay, rel=1e-4))


def test_a_second_moment_faster_than_the_covariance_warns_and_a_slower_one_does_not():
    with pytest.warns(RuntimeWarning, match="faster than the covariance"):
        ex.SpIN(optax.rmsprop(1e-5, decay=0.9), ema_rate=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ex.SpIN(optax.rmsprop(1e-5, decay=0.999), ema_rate=0.01)
        ex.SpIN(optax.rmsprop(1e-5, decay=0.99), ema_rate=0.01)
        ex.SpIN(optax.sgd(1e-2), ema_rate=0.001)


def test_a_scheduled_rate_is_held_against_the_optimiser_at_its_lowest():
    learning_rate = optax.exponential_decay(1e-3, 100, 1e-6)
    with pytest.warns(RuntimeWarning, match="faster than the covariance"):
        ex.SpIN(optax.adam(learning_rate, b2=0.9), ema_rate=ema_schedule(learning_rate))


def by_hand(network, batch, mean_sigma, mean_half, ema_rate):
    """The averages and the gradient of Algorithm 1, with ∂u/∂θ by automatic differentiation."""
    k, size = mean_sigma.shape[0], len(batch.x)
    u, v = jax.vmap(network)(batch.x), batch.x[:, :1] + 2
    slopes = eqx.filter_jacrev(lambda net: jax.vmap(net)(batch.x))(network)
    half = jax.tree.map(lambda d: jnp.einsum("bi,bj...->ij...", u, d) / size, slopes)
    mean_half = jax.tree.map(lambda old, new: (1 - ema_rate) * old + ema_rate * new, mean_half, half)
    mean_sigma = (1 - ema_rate) * mean_sigma + ema_rate * u.T @ u / size
    inverse = jnp.linalg.inv(jnp.linalg.cholesky(mean_sigma))
    diagonal = jnp.eye(k) * inverse
    quotients = inverse @ (u.T @ (v * u) / size) @ inverse.T
    by_pi, by_sigma = inverse.T @ diagonal, -inverse.T @ jnp.triu(quotients @ diagonal)
    through_pi = jax.tree.map(lambda d: jnp.einsum("bi,ij,bj...->...", v * u, by_pi, d) / size, slopes)
    through_sigma = jax.tree.map(lambda t: jnp.einsum("ij,ij...->...", by_sigma, t), mean_half)
    return mean_sigma, mean_half, jax.tree.map(jnp.add, through_pi, through_sigma)


def test_averages_of_rate_below_one_enter_the_gradient_as_algorithm_1_says():
    k, ema_rate, step = 2, 0.3, 0.1
    network = ex.MLP(2, k, width=5, depth=1, sparsity="none", key=jax.random.key(0))
    solver = ex.SpIN(optax.sgd(step), average="jacobian", ema_rate=ema_rate, orthonormal_pull=0.0, rescale=False)
    state = solver.begin(network, k)
    averages = jnp.eye(k), jax.tree.map(lambda p: jnp.zeros((k, k, *p.shape)), network)
    potential = ex.Potential(lambda x: x[0] + 2)
    on_paper, step_of_solver = eqx.filter_jit(by_hand), eqx.filter_jit(solver.update)
    for seed in range(3):
        batch = ex.Uniform(ex.Box(-1, 1, dims=2)).sample(jax.random.key(seed), 16)
        *averages, gradient = on_paper(state.network, batch, *averages, ema_rate)
        expected = jax.tree.map(lambda p, g: p - step * g, state.network, gradient)
        state, _ = step_of_solver(potential, state, batch)
        for a, b in zip(jax.tree.leaves(state.network), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_rate_follows_the_learning_rate_more_slowly_and_stops_at_its_floor():
    learning_rate = optax.exponential_decay(1e-3, 100, 1e-6)
    ema_rate = ema_schedule(learning_rate, power=0.5, floor=0.01)
    assert float(ema_rate(0)) == 1.0
    assert float(ema_rate(50)) == pytest.approx(1e-6**0.25, rel=1e-3)
    assert float(ema_rate(100)) == pytest.approx(0.01)


@pytest.mark.usefixtures("as_user")
def test_a_learning_rate_is_no_optimiser():
    with pytest.raises(TypeError, match="optimizer must be an optax optimiser"):
        ex.SpIN(1e-3)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("bad", [{"average": "mean"}, {"ema_rate": 0.0}, {"ema_rate": 1.5}])
def test_settings_that_make_no_sense_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ex.SpIN(optax.sgd(1e-2), **bad)

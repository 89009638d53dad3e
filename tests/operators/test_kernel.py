"""Kernel estimates on a finite set of states against the dense matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.rayleigh import second_moment

STATES, BATCHES, SIZE = 5, 20_000, 7
RNG = np.random.default_rng(0)
HALF = RNG.normal(size=(STATES, STATES))
MATRIX = HALF + HALF.T + 2 * np.eye(STATES)
TABLE = RNG.normal(size=(STATES, 2))
EXACT = MATRIX @ TABLE / STATES  # K u under the uniform distribution on the states
UNIFORM = np.full(STATES, 1 / STATES)
UNEQUAL = np.array([0.1, 0.3, 0.15, 0.25, 0.2])
SAMPLES = ex.Points(jnp.asarray(RNG.normal(size=(8, 2)), jnp.float32), jnp.ones(8))

KERNEL = ex.Kernel(lambda x, y: jnp.asarray(MATRIX, jnp.float32)[x[0].astype(int), y[0].astype(int)])


def values(x):
    """U at a point, which is the number of its state."""
    return jnp.asarray(TABLE, jnp.float32)[x[0].astype(int)]


def batches(proposal, size=SIZE):
    """States drawn from a proposal, with the weights that bring them back to the uniform distribution."""
    states = np.random.default_rng(1).choice(STATES, (BATCHES, size), p=proposal)
    weights = (UNIFORM / proposal)[states]
    return ex.Points(jnp.asarray(states[..., None], jnp.float32), jnp.asarray(weights, jnp.float32))


def over_batches(function, drawn):
    """The mean of a function over batches, and the standard error of it."""
    results = np.asarray(jax.jit(jax.vmap(lambda b: function(b, jax.vmap(values)(b.x))))(drawn), np.float64)
    return results.mean(0), results.std(0, ddof=1) / np.sqrt(BATCHES)


def assert_unbiased(mean, error, exact):
    assert (error < 0.05 * np.abs(exact).max()).all()
    assert (np.abs(mean - exact) < 4.5 * error).all(), (mean, exact, error)


@pytest.mark.parametrize("proposal", [UNIFORM, UNEQUAL], ids=["uniform", "weighted"])
def test_the_expectation_at_every_state_is_the_dense_product(proposal):
    def at_every_state(b, _):
        def at(state):
            first = ex.Points(b.x.at[0].set(state), b.weights.at[0].set(9.0))
            return KERNEL.apply(values, first, jax.vmap(values)(first.x))[0]

        return jax.vmap(at)(jnp.arange(float(STATES)))

    mean, error = over_batches(at_every_state, batches(proposal))
    assert_unbiased(mean, error, EXACT)


@pytest.mark.parametrize("proposal", [UNIFORM, UNEQUAL], ids=["uniform", "weighted"])
def test_the_expectation_of_both_moments_is_dense(proposal):
    def moments(b, u):
        return jnp.stack([second_moment(u, u, b.weights), second_moment(u, KERNEL.apply(values, b, u), b.weights)])

    mean, error = over_batches(moments, batches(proposal))
    assert_unbiased(mean[0], error[0], TABLE.T @ TABLE / STATES)
    assert_unbiased(mean[1], error[1], TABLE.T @ EXACT / STATES)


def test_one_batch_is_the_weighted_mean_over_the_other_points():
    states, weights = np.array([0, 3, 3, 1]), np.array([0.5, 2.0, 1.0, 0.3])
    batch = ex.Points(jnp.asarray(states[:, None], jnp.float32), jnp.asarray(weights, jnp.float32))
    expected = [
        sum(weights[j] * MATRIX[states[i], states[j]] * TABLE[states[j]] for j in range(4) if j != i) / 3
        for i in range(4)
    ]
    got = jax.jit(lambda b: KERNEL.apply(values, b, jax.vmap(values)(b.x)))(batch)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_a_point_is_not_paired_with_itself():
    batch, u = SAMPLES, SAMPLES.x[:, :1]

    @jax.jit
    def with_diagonal(value):
        kernel = ex.Kernel(lambda x, y: jnp.where((x == y).all(), value, jnp.exp(-jnp.sum((x - y) ** 2))))
        return kernel.apply(values, batch, u)

    plain, large = with_diagonal(0.0), with_diagonal(1e6)
    np.testing.assert_array_equal(plain, large)
    assert np.abs(plain).max() > 0.01


@pytest.mark.parametrize(("proposal", "size"), [(UNIFORM, 6), (UNEQUAL, 7)], ids=["uniform", "weighted"])
def test_two_estimates_give_an_unbiased_squared_norm_where_one_squared_is_too_large(proposal, size):
    def squares(b, u):
        first, second, weights = KERNEL.independent_estimates(values, b, u)
        single = KERNEL.apply(values, b, u)
        return jnp.stack([(weights[:, None] * product).mean(0) for product in (first * second, single**2)])

    exact = (EXACT**2).mean(0)
    mean, error = over_batches(squares, batches(proposal, size))
    assert_unbiased(mean[0], error[0], exact)
    assert (mean[1] - exact > 10 * error[1]).all()


def test_each_of_the_two_estimates_is_unbiased_and_they_share_no_partner():
    drawn = batches(UNEQUAL)
    for position in (0, 1):
        placed = ex.Points(drawn.x.at[:, position].set(2.0), drawn.weights)
        mean, error = over_batches(
            lambda b, u, p=position: jnp.stack(KERNEL.independent_estimates(values, b, u)[:2])[:, p], placed
        )
        assert_unbiased(mean, error, np.stack([EXACT[2], EXACT[2]]))
    constant = ex.Kernel(lambda x, y: jnp.ones(()))
    x, u = jnp.zeros((5, 1)), jnp.asarray([[1.0], [10.0], [100.0], [1000.0], [10000.0]])
    first, second, _ = constant.independent_estimates(values, ex.Points(x, jnp.ones(5)), u)
    np.testing.assert_allclose(first[:, 0], [5050.0, 10101 / 3, 10001 / 2, 10101 / 3, 50.5], rtol=1e-6)
    np.testing.assert_allclose(second[:, 0], [505.0, 1000.0, 505.0, 10.0, 505.0], rtol=1e-6)


def test_all_pairs_of_a_batch_have_less_variance_than_matched_pairs_of_the_same_points():
    def of_all(b, u):
        return second_moment(u, KERNEL.apply(values, b, u), b.weights)

    def of_matched(b, u):
        half = len(b.weights) // 2
        between = jax.vmap(KERNEL.function)(b.x[:half], b.x[half:])
        pairs = jnp.einsum("bi,b,bj->ij", u[:half], between, u[half:]) / half
        return (pairs + pairs.T) / 2

    drawn = batches(UNIFORM, size=16)
    for pairs in (all_pairs := over_batches(of_all, drawn)), (matched := over_batches(of_matched, drawn)):
        assert_unbiased(*pairs, TABLE.T @ EXACT / STATES)
    # 16 points make 120 pairs, or 8: the part of the variance that is due to single points is all that is left.
    assert (matched[1] ** 2 > 1.5 * all_pairs[1] ** 2).all(), (matched[1] / all_pairs[1]) ** 2


def test_the_kernel_between_two_sets_of_points():
    x, y = jnp.arange(2.0)[:, None], jnp.arange(3.0)[:, None]
    np.testing.assert_allclose(KERNEL.between(x, y), MATRIX[:2, :3], rtol=1e-6)
    np.testing.assert_array_equal(KERNEL.gram(x), KERNEL.between(x, x))


def test_a_network_can_be_trained_on_a_kernel():
    rows = np.random.default_rng(0).normal(size=(500, 1)).astype(np.float32)
    modes = ex.solve(
        ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2) / 2)), ex.Arrays(rows), 2, which="largest",
        solver=ex.SpIN(samples=2**14), max_steps=400, progress=False,
    )  # fmt: skip
    exact = np.linalg.eigvalsh(np.exp(-((rows - rows.T) ** 2) / 2) / len(rows))[::-1][:2]
    np.testing.assert_allclose(modes.eigenvalues, exact, rtol=0.05)  # seeds 0 to 2: 1.5 to 3.1 %


def test_its_eigenfunctions_are_not_constrained():
    assert KERNEL.acts_on is ex.Points
    assert not KERNEL.wants_boundary
    assert not KERNEL.fixes_constants


def test_symmetric_kernels_pass_their_check():
    ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2))).check(SAMPLES)
    KERNEL.check(ex.Points(jnp.arange(5.0)[:, None], jnp.ones(5)))


def test_a_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"2 points of shape \(2,\).*returned shape \(2,\)"):
        ex.Kernel(lambda x, y: x * y).check(SAMPLES)


def test_asymmetry_is_named_with_its_size():
    lopsided = ex.Points(jnp.asarray([[0.0, 0.0], [2.0, 0.0]]), jnp.ones(2))
    with pytest.raises(ValueError, match=r"not symmetric.*differ by up to 6 "):
        ex.Kernel(lambda x, y: 1.0 + 3 * x[0]).check(lopsided)


@pytest.mark.parametrize("value", [jnp.nan, jnp.inf])
def test_values_that_are_not_finite_are_refused(value):
    with pytest.raises(ValueError, match="NaN or infinity"):
        ex.Kernel(lambda x, y: jnp.where((x == y).all(), value, 1.0)).check(SAMPLES)

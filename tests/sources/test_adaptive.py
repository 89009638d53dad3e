"""A sampler that follows the functions: honest weights, points where the functions are, and what that is worth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.solvers.default_parts import network_key

BOX = ex.Box(-10.0, 10.0, dims=2)
ADAPTIVE = ex.Adaptive(BOX)


def narrow(x):
    """Two Gaussians in different places, of different size."""
    return jnp.stack([jnp.exp(-jnp.sum((x - 3) ** 2)), 50 * jnp.exp(-jnp.sum((x + 5) ** 2))])


@jax.jit
@jax.vmap
def batches(key):
    return ADAPTIVE.draw((), narrow, key, 64)[1]


KEYS = jax.random.split(jax.random.key(0), 2000)


def test_means_are_those_of_the_other_source():
    drawn = batches(KEYS)
    for function, exact in {
        "one": (lambda x: jnp.ones(x.shape[:-1]), 1.0),
        "gaussian": (lambda x: jnp.exp(-jnp.sum((x - 3) ** 2, -1)), np.pi / 400),
        "quadratic": (lambda x: x[..., 0] ** 2, 100 / 3),
    }.values():
        each = np.asarray(jnp.mean(drawn.weights * function(drawn.x), 1))
        assert abs(each.mean() - exact) < 4 * each.std() / np.sqrt(len(each))


def test_points_are_where_the_functions_are_each_counting_alike():
    x = np.asarray(batches(KEYS).x).reshape(-1, 2)
    shares = [(np.linalg.norm(x - middle, axis=1) < 2).mean() for middle in (3, -5)]
    np.testing.assert_allclose(shares, 0.25 + 0.5 * np.pi * 2**2 / 400, atol=0.02)


def test_a_narrow_integral_scatters_less_than_under_uniform_points():
    def gaussian(x):
        return jnp.exp(-2 * jnp.sum((x - 3) ** 2, -1))

    adapted, uniform = batches(KEYS), jax.jit(jax.vmap(lambda key: ex.Uniform(BOX).sample(key, 64)))(KEYS)
    ours, theirs = (np.asarray(jnp.mean(b.weights * gaussian(b.x), 1)).std() for b in (adapted, uniform))
    assert ours < 0.5 * theirs


def test_functions_that_are_zero_or_flat_leave_points_as_they_are():
    for function in (lambda x: jnp.zeros(2), lambda x: jnp.ones(2)):
        _, drawn = ADAPTIVE.draw((), function, KEYS[0], 64)
        np.testing.assert_allclose(drawn.weights, 1, rtol=1e-4)


def test_results_are_measured_on_the_other_source():
    assert ADAPTIVE.source == ex.Uniform(BOX)
    mixture = ex.Mixture(BOX, [BOX], [1.0])
    assert ex.Adaptive(mixture).source is mixture


def test_it_remembers_nothing_from_one_batch_to_the_next():
    state = ADAPTIVE.init(narrow, KEYS[0], 64)
    after, drawn = ADAPTIVE.draw(state, narrow, KEYS[0], 64)
    again = ADAPTIVE.draw(after, narrow, KEYS[0], 64)[1]
    assert jax.tree.leaves((state, after)) == []
    np.testing.assert_array_equal(drawn.x, again.x)


def test_training_follows_it_and_says_how_many_points_count():
    """A well that fills a hundredth of its box, without what walkers would tell, or a finish that mends."""
    well, shares = -ex.Laplacian() + ex.Potential(lambda x: jnp.sum(x**2)), []
    network = ex.Multiply(ex.DirichletFactor(BOX), ex.EnsembleMLP(2, 3, key=network_key(0)))
    solver = ex.NaturalGradient(finish="eigh", samples=2**15)

    def look(snapshot):
        shares.append(snapshot.metrics.get("effective_samples"))

    modes = ex.solve(well, ADAPTIVE, 3, network=network, solver=solver, max_steps=400, callbacks=[look], progress=False)
    np.testing.assert_allclose(modes.eigenvalues, [2, 4, 4], rtol=0.05)
    assert modes.source == ex.Uniform(BOX)
    assert shares[0] is None
    assert 0.3 < shares[-1] < 0.9


@pytest.mark.parametrize("source", [ex.TimeSeries(jnp.zeros((20, 2))), ADAPTIVE, "box"])
def test_it_needs_a_source_of_points(source, as_user):
    with pytest.raises(ValueError, match="Adaptive needs a source of single points, such as Box or Mixture; got"):
        ex.Adaptive(source)


def test_candidates_are_counted(as_user):
    with pytest.raises(ValueError, match="candidates must be a whole number of at least 1; got 0"):
        ex.Adaptive(BOX, candidates=0)


def test_kernels_refuse_it():
    kernel = ex.Kernel(lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2)))
    with pytest.raises(ValueError, match="Adaptive draws a point more than once, which only local operators allow"):
        ex.solve(kernel, ADAPTIVE, 2, which="largest", progress=False)

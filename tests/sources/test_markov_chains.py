"""Markov chains: they have the density of the functions, whatever the faces of the box, and forget where they were."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.core.random_streams import Stream
from eigenax.samples import FreshSamples
from eigenax.sources.markov_chains import MarkovChains

CHAINS, KEY = 512, jax.random.key(0)


def gaussians(x):
    """exp(−x²) and a multiple of x₀ exp(−x²): under the mean of their squares E[x₀²] = (1/4 + 3/4)/2, E[x₁²] = 1/4."""
    return jnp.exp(-jnp.sum(x**2)) * jnp.stack([jnp.ones(()), 7 * x[0]])


def drawn(chains, functions, draws=20):
    """Points and weights of several draws after the first ones."""

    @jax.jit
    def run(state):
        def draw(state, key):
            state, batch = chains.draw(state, functions, key, CHAINS)
            return state, (batch, state.accepted)

        return jax.lax.scan(draw, state, jax.random.split(KEY, draws))[1]

    batch, accepted = run(chains.init(functions, KEY, CHAINS))
    return np.asarray(batch.x), np.asarray(batch.weights), np.asarray(accepted)


def within(each, exact):
    """Whether the mean over chains is within four standard errors; each chain counts once, however it is correlated."""
    means = each.mean(0)
    return abs(means.mean() - exact) < 4 * means.std() / np.sqrt(len(means))


@pytest.mark.parametrize("proposal", ["langevin", "metropolis"])
def test_points_have_the_density_of_all_functions_in_equal_shares(proposal):
    x, weights, accepted = drawn(MarkovChains(ex.Box(-5, 5, dims=2), proposal=proposal), gaussians)
    assert within(x[..., 0] ** 2, 0.5)
    assert within(x[..., 1] ** 2, 0.25)
    assert within(x[..., 0] * x[..., 1], 0.0)
    # With the weights, means are those of the box: ∫ x₁² v₁² / ∫ v₁² is that of the first function alone.
    squares = weights * np.exp(-2 * (x**2).sum(-1))
    ratio = (squares * x[..., 0] ** 2).mean(0) - 0.25 * squares.mean(0)
    assert abs(ratio.mean()) < 4 * ratio.std() / np.sqrt(CHAINS)
    assert 0.2 < accepted[-5:].mean() < 0.75


def test_periodic_axes_are_wrapped_and_other_faces_keep_points_inside():
    box = ex.Box([0, 0], [2 * np.pi, 1], boundary=("periodic", "neumann"))
    x, _, _ = drawn(MarkovChains(box), lambda x: jnp.exp(jnp.sin(x[0]))[None])
    assert ((x[..., 0] >= 0) & (x[..., 0] <= 2 * np.pi)).all()
    assert ((x[..., 1] >= 0) & (x[..., 1] <= 1)).all()
    t = np.linspace(0, 2 * np.pi, 1001)[:-1]
    density = np.exp(2 * np.sin(t))
    assert within(np.sin(x[..., 0]), (density * np.sin(t)).sum() / density.sum())
    assert within(x[..., 1], 0.5)


def test_on_a_surface_points_are_weighted_by_area():
    sphere = ex.sphere()
    x, _, _ = drawn(MarkovChains(sphere), lambda p: (1.1 + sphere.embedding(p)[2])[None])
    z = np.asarray(jax.vmap(jax.vmap(sphere.embedding))(x))[..., 2]
    # ∫ z (1.1 + z)² / ∫ (1.1 + z)² over −1 … 1
    assert within(z, (2 * 1.1 * 2 / 3) / (2 * 1.1**2 + 2 / 3))


def test_jumps_bring_the_wells_into_balance_where_no_small_move_can():
    def wells(x):
        return (jnp.exp(-8 * (x[0] - 3) ** 2) + 2 * jnp.exp(-8 * (x[0] + 3) ** 2))[None]

    start = np.full((64, 1), 3.0, np.float32) + 0.1 * np.random.default_rng(0).normal(size=(64, 1)).astype(np.float32)
    box, centres = ex.Box(-5, 5), np.array([[3.0], [-3.0]])
    stuck, _, _ = drawn(MarkovChains(box, start=start), wells)
    moving, _, _ = drawn(MarkovChains(box, start=start, centres=centres), wells)
    assert (stuck > 0).all()
    assert within((moving[..., 0] > 0).astype(float), 0.2)


def test_standard_errors_of_correlated_points_are_those_of_independent_ones():
    """The scatter of means over groups of points, told twice: from chains and from points drawn independently."""
    chains = MarkovChains(ex.Box(-5, 5, dims=2), moves=2)
    state = chains.init(gaussians, KEY, 4096)
    source = chains.measured(state, gaussians, KEY)
    assert source.chains.moves > 2  # as many moves as chains need to forget
    fresh = FreshSamples(source, 0, Stream.MEASURING, 2**14, evenly=True)
    (ours,) = fresh.map(_mean_square)
    ours, rng = ours[:, 0], np.random.default_rng(0)
    chosen = rng.random((64, 2**10)) < 0.5
    theirs = np.where(chosen, 0.25 * rng.chisquare(1, chosen.shape), 0.25 * rng.chisquare(3, chosen.shape)).mean(1)
    assert abs(ours.mean() - 0.5) < 4 * ours.std() / np.sqrt(len(ours))
    assert 0.5 < ours.std(ddof=1) / theirs.std(ddof=1) < 2


def _mean_square(batch):
    return (jnp.mean(batch.x[:, :1] ** 2, 0),)


@pytest.mark.usefixtures("as_user")
def test_what_cannot_be_is_refused_by_name():
    with pytest.raises(ValueError, match="MarkovChains needs a domain"):
        MarkovChains(ex.Gaussian(0.0, 1.0, dims=2))
    with pytest.raises(ValueError, match="proposal must be"):
        MarkovChains(ex.Box(0, 1), proposal="gibbs")
    with pytest.raises(ValueError, match=r"start must be points \(c, 2\)"):
        MarkovChains(ex.Box(0, 1, dims=2), start=np.zeros((5, 3)))
    with pytest.raises(ValueError, match="moves must be"):
        MarkovChains(ex.Box(0, 1), moves=0)

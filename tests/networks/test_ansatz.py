"""The network for many dimensions: its boundary, its tails, and what it represents exactly."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import eigenax as ex
from eigenax.networks.ansatz import Ansatz
from eigenax.networks.base import Multiply
from eigenax.networks.boundary import ThinDirichletFactor
from eigenax.networks.many_inputs import ManyInputs

KEY = jax.random.key(0)


def ansatz_in(box, **kwargs):
    dims = len(box.low)
    inputs = ManyInputs.of(box, np.asarray(box.centre), 0.1 * np.eye(dims), **kwargs)
    network = Ansatz(inputs, 2, width=8, products=[(0, 0)], anharmonic=[(0, 0, 1)], key=KEY)
    return eqx.tree_at(lambda n: n.exponent, network, jax.random.normal(KEY, network.exponent.shape) / 5)


def test_functions_obey_periodic_and_neumann_faces():
    box = ex.Box([0, 0, -1], [2, 1, 1], boundary=("periodic", "neumann", "dirichlet"))
    network = Multiply(ThinDirichletFactor(box, (0.3, 0.3, 0.3)), ansatz_in(box))
    x = jnp.array([0.0, 0.3, 0.2])
    np.testing.assert_allclose(network(x), network(x.at[0].set(2.0)), rtol=1e-5)
    slope = jax.jacfwd(network)(x.at[1].set(0.0))[:, 1]
    np.testing.assert_allclose(slope, 0, atol=1e-5)
    np.testing.assert_allclose(network(x.at[2].set(1.0)), 0, atol=1e-6)


def test_functions_decay_however_large_the_anharmonic_exponent():
    network = ansatz_in(ex.Box(-50, 50, dims=2))
    network = eqx.tree_at(lambda n: n.exponent, network, 2 * jnp.abs(network.exponent))
    far = jax.vmap(network)(40 * jnp.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]]))
    np.testing.assert_allclose(far, 0, atol=1e-20)


def test_states_of_an_oscillator_are_represented_exactly():
    """With its covariance, the Gaussian is the ground state and the inputs are the first excitations."""
    inputs = ManyInputs.of(ex.Box(-9, 9, dims=2), np.zeros(2), np.diag([1.0, 0.5]))
    network = Ansatz(inputs, 3, width=4, key=KEY)
    outputs = np.zeros(network.outputs.shape)
    outputs[0, -1] = outputs[1, 4] = outputs[2, 5] = 1
    network = network.with_outputs(outputs)
    operator = -0.5 * ex.Laplacian() + ex.Potential(lambda x: x[0] ** 2 / 8 + x[1] ** 2 / 2)
    x = jax.random.normal(KEY, (20, 2))
    u = jax.vmap(network)(x)
    ku = operator.apply(network, ex.Points(x, jnp.ones(20)), u)
    np.testing.assert_allclose(ku, u * np.array([0.75, 1.25, 1.75]), atol=1e-5)


def test_a_cusp_has_a_slope_on_either_side():
    inputs = ManyInputs.of(ex.Box(-9, 9, dims=2), np.zeros(2), np.eye(2), singularities=((1.0, 0.0),))
    slopes = jax.vmap(jax.jacfwd(lambda x: inputs(x)[-1]))(jnp.array([[1.001, 0.0], [0.999, 0.0]]))[:, 0]
    np.testing.assert_allclose(slopes, [1 / np.sqrt(2), -1 / np.sqrt(2)], rtol=1e-2)

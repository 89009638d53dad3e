"""The Schrödinger operator of the two-dimensional hydrogen atom on its known eigenfunctions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import eigenax as ex
from eigenax.lab.spectra import hydrogen

pytestmark = pytest.mark.usefixtures("float64")


def atom(method="forward"):
    return -ex.Laplacian(method) + ex.Potential(lambda x: -1 / jnp.linalg.norm(x))


def applied(operator, function, batch):
    """u and K u."""

    @jax.jit
    def both(batch):
        u = jax.vmap(function)(batch.x)
        return u, operator.apply(function, batch, u)

    return both(batch)


def points(scale):
    return ex.Points(jnp.asarray(np.random.default_rng(0).normal(size=(40, 2)) * scale), jnp.ones(40))


@pytest.mark.parametrize(
    ("m", "method"), [(0, "forward"), (1, "forward"), (1, "exact"), (2, "forward"), (3, "forward")]
)
def test_the_residual_of_every_shell_is_zero_everywhere_at_its_energy_alone(m, method):
    f, kf = applied(atom(method), lambda x: hydrogen.shell(x, m), points(4 * (m + 1)))
    assert f.shape == (40, 2 * m + 1)
    assert np.abs(kf + f / (2 * m + 1) ** 2).max() < 1e-11 * max(1.0, float(np.abs(f).max()))
    assert (np.abs(kf + f / (2 * m + 3) ** 2).max(0) > 1e-3).all()


def test_the_states_of_four_shells_are_orthogonal():
    nodes, radial_weights = np.polynomial.legendre.leggauss(300)
    r, angles = 150 * (nodes + 1), 2 * np.pi * np.arange(16) / 16
    x = r[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    weights = np.repeat(150 * radial_weights * r, 16) * 2 * np.pi / 16
    f = np.asarray(jax.jit(jax.vmap(lambda x: hydrogen.shells(x, 16)))(jnp.asarray(x.reshape(-1, 2))))
    gram = f.T @ (weights[:, None] * f)
    norms = np.sqrt(np.diag(gram))
    assert gram.shape == (16, 16)
    np.testing.assert_allclose(gram / np.outer(norms, norms), np.eye(16), atol=1e-10)
    np.testing.assert_allclose(gram[0, 0], np.pi / 2, rtol=1e-10)

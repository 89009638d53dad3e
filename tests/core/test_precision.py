"""Everything that trains or measures is traced with full-precision products, a user's network included."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import eigenax as ex
from eigenax.assemble import fit

BOX = ex.Box(-1, 1, dims=2)
seen = []


class Recorder(eqx.Module):
    """Notes the precision its products are traced with."""

    weight: jax.Array

    def __call__(self, x):
        seen.append(jax.config.jax_default_matmul_precision)
        return self.weight @ x


@pytest.fixture
def network():
    seen.clear()
    return Recorder(jnp.eye(2))


def test_training(network):
    fit(ex.Potential(lambda x: x[0]), BOX, 2, network=network, steps=2, batch=8, progress=False)
    assert seen[-1] == "highest"


def test_measuring_and_calling(network):
    modes = ex.measure(network, ex.Potential(lambda x: x[0]), BOX, samples=256)
    assert set(seen) == {"highest"}
    seen.clear()
    modes(jnp.zeros((3, 2)))
    assert set(seen) == {"highest"}

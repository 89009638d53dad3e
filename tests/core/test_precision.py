"""Everything that trains or measures is traced with full-precision products, a user's network included."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import eigenax as ex
from eigenax.core.precision import precision_scope

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
    noted = []
    solver = ex.SpIN(batch=8, samples=256)
    options = {"network": network, "solver": solver, "max_steps": 2, "progress": False}
    ex.solve(ex.Potential(lambda x: x[0]), BOX, 2, callbacks=[lambda snapshot: noted.append(list(seen))], **options)
    assert noted[-1][-1] == "highest"  # after the last update, before anything is measured


def test_measuring_and_calling(network):
    modes = ex.measure(network, ex.Potential(lambda x: x[0]), BOX, samples=256)
    assert set(seen) == {"highest"}
    seen.clear()
    modes(jnp.zeros((3, 2)))
    assert set(seen) == {"highest"}


@pytest.mark.parametrize("already", [False, True])
def test_counting_is_in_the_precision_named_whatever_it_was_before(already):
    with jax.enable_x64(already):
        before = jnp.zeros(()).dtype
        for precision in ("float32", "float64"):
            with precision_scope(precision):
                assert jnp.zeros(()).dtype == precision
                assert jax.jit(lambda x: x + 1)(jnp.asarray(0.5)).dtype == precision
            assert jnp.zeros(()).dtype == before


@pytest.mark.parametrize(
    ("precision", "already", "expected"),
    [
        ("float32", False, "float32"),
        ("float32", True, "float64"),
        ("float64", False, "float64"),
        ("float64", True, "float64"),
    ],
)
def test_counting_in_at_least_some_precision_keeps_a_higher_one(precision, already, expected):
    with jax.enable_x64(already), precision_scope(precision, at_least=True):
        assert jnp.zeros(()).dtype == expected

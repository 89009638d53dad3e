"""A process that compiles a program for each of very many problems does not crash."""

import jax
import jax.numpy as jnp
import pytest

import eigenax as ex
from eigenax.driver import compiled_programs


@pytest.mark.parametrize(("share", "traced"), [(0.0, 2), (1.0, 1)])
def test_programs_are_let_go_of_where_they_have_taken_all_the_room_there_is(monkeypatch, share, traced):
    seen = []

    @jax.jit
    def doubled(x):
        seen.append(x.shape)
        return 2 * x

    monkeypatch.setattr(compiled_programs, "MAX_SHARE_OF_MAPS", share)
    for _ in range(2):
        assert doubled(jnp.ones(3)).sum() == 6
        compiled_programs.make_room_for_programs()
    assert len(seen) == traced


COMPILED = []


def of_compiler(event, seconds, **_):
    if event.endswith("backend_compile_duration"):
        COMPILED.append(seconds)


jax.monitoring.register_event_duration_secs_listener(of_compiler)


def squares(x):
    return jnp.sum(x**2)


def compilations(**change):
    """How many programs a run of two bases compiles; its operator is made anew, of the same function."""
    asked = {"n": 2, "solver": ex.RayleighRitz(n_basis=32, samples=2048), "max_steps": 2, "progress": False} | change
    before = len(COMPILED)
    ex.solve(-ex.Laplacian() + ex.Potential(squares), ex.Box(-6, 6), **asked)
    return len(COMPILED) - before


def test_the_same_call_compiles_nothing_again_another_seed_nothing_and_another_n_little(monkeypatch):
    monkeypatch.setattr(compiled_programs, "MAX_SHARE_OF_MAPS", 1.0)
    first = compilations()
    assert first > 10
    assert compilations() == 0
    assert compilations(seed=2) <= 2  # unless there is an empty place to look at where the first had none
    assert compilations(n=3) <= first / 3


def test_the_same_training_compiles_nothing_again(monkeypatch):
    monkeypatch.setattr(compiled_programs, "MAX_SHARE_OF_MAPS", 1.0)
    network = ex.Multiply(ex.DirichletFactor(ex.Box(-6, 6)), ex.MLP(1, 2, width=8, depth=1, key=jax.random.key(0)))
    asked = {"solver": ex.SpIN(batch=32, samples=2048, finish="cholesky"), "network": network}
    assert compilations(**asked) > 10
    assert compilations(**asked) == 0

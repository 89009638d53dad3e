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
    def twice(x):
        seen.append(x.shape)
        return 2 * x

    monkeypatch.setattr(compiled_programs, "SHARE", share)
    for _ in range(2):
        assert twice(jnp.ones(3)).sum() == 6
        compiled_programs.make_room_for_programs()
    assert len(seen) == traced


COMPILED = []


def of_compiler(event, seconds, **_):
    if event.endswith("backend_compile_duration"):
        COMPILED.append(seconds)


def squares(x):
    return jnp.sum(x**2)


def compilations(**change):
    """How many programs a run of two bases compiles; its operator is made anew, of the same function."""
    asked = {"n": 2, "solver": ex.RayleighRitz(n_basis=32, samples=2048), "max_steps": 2, "progress": False} | change
    before = len(COMPILED)
    ex.solve(-ex.Laplacian() + ex.Potential(squares), ex.Box(-6, 6), **asked)
    return len(COMPILED) - before


def test_the_same_call_compiles_nothing_again_another_seed_nothing_and_another_n_little(monkeypatch):
    monkeypatch.setattr(compiled_programs, "SHARE", 1.0)
    jax.monitoring.register_event_duration_secs_listener(of_compiler)
    first = compilations()
    assert first > 10
    assert compilations() == 0
    assert compilations(seed=1) <= 2
    assert compilations(n=3) <= first / 3

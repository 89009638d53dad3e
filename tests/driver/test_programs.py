"""A process that compiles a program for each of very many problems does not crash."""

import jax
import jax.numpy as jnp
import pytest

from eigenax.driver import programs


@pytest.mark.parametrize(("share", "traced"), [(0.0, 2), (1.0, 1)])
def test_programs_are_let_go_of_where_they_have_taken_all_the_room_there_is(monkeypatch, share, traced):
    seen = []

    @jax.jit
    def twice(x):
        seen.append(x.shape)
        return 2 * x

    monkeypatch.setattr(programs, "SHARE", share)
    for _ in range(2):
        assert twice(jnp.ones(3)).sum() == 6
        programs.make_room_for_programs()
    assert len(seen) == traced

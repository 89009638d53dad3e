"""Seconds of a run, and those of the compiler, which are none of its own."""

import time

import jax
import jax.numpy as jnp

from eigenax.driver.clock import Clock, _CompilationTimes


def test_time_is_either_the_compilers_or_not():
    began, clock = time.perf_counter(), Clock()
    time.sleep(0.05)
    assert clock.read()[0] >= 0.05
    assert clock.read()[1] == 0
    jax.jit(lambda x: jnp.sin(x) + 0.123456789)(jnp.ones(3)).block_until_ready()
    seconds, compiling = clock.read()
    assert compiling > 0
    assert seconds >= 0.05
    assert seconds + compiling <= time.perf_counter() - began


def test_an_interval_inside_another_counts_once_and_other_events_do_not():
    compiler, begin = _CompilationTimes(), time.perf_counter()
    inner, outer = "/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/backend_compile_duration"
    time.sleep(0.02)
    compiler.record(inner, 0.01)
    compiler.record("/jax/something_else", 0.015)
    compiler.record(outer, 0.015)
    assert 0.0149 < compiler.seconds_since(begin) < 0.0151
    assert compiler.seconds_since(time.perf_counter()) == 0

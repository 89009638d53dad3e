"""Compiled programs, of which a process may hold only so many."""

from pathlib import Path

import jax

SHARE = 0.5
"""Of the memory maps that Linux allows a process, that programs may take before they are let go of."""


def make_room_for_programs() -> None:
    """Let go of all compiled programs where they have taken up half of the memory maps of a process.

    XLA maps each program some ten times, JAX keeps them all, and beyond `vm.max_map_count` a process crashes: after
    some hundred problems, each with a potential of its own. What is still needed is compiled again.
    """
    try:
        allowed = int(Path("/proc/sys/vm/max_map_count").read_text())
        taken = Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:  # not Linux
        return
    if taken > SHARE * allowed:
        jax.clear_caches()

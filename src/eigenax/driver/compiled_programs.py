"""A process can hold only a limited number of compiled programs; this module discards them in time."""

from pathlib import Path

import jax

MAX_SHARE_OF_MAPS = 0.5
"""Programs are discarded once the process uses this share of the memory maps that Linux allows it."""


def make_room_for_programs() -> None:
    """Discard all compiled programs once the process uses half of the memory maps it may have.

    XLA takes about ten memory maps for each program, and JAX keeps all programs. A process that exceeds
    `vm.max_map_count` crashes; some hundred problems, each with its own potential, are enough. Programs that are still
    needed are compiled again.
    """
    try:
        allowed = int(Path("/proc/sys/vm/max_map_count").read_text())
        taken = Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:  # not Linux
        return
    if taken > MAX_SHARE_OF_MAPS * allowed:
        jax.clear_caches()

"""The loop that drives every solver: time, callbacks, checkpoints, interrupts, progress, stopping."""

"""The loop that runs every solver, with its timing, callbacks, checkpoints, interrupts, progress line and stopping."""

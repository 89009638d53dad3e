"""What goes to the disk and comes back: files, checkpoints, metrics, and modules as plain data."""

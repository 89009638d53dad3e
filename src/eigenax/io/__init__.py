"""Reading and writing: files, checkpoints, metrics, and modules as plain data."""

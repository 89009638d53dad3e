"""Sources: where points come from, and with what density."""

"""Where points come from, and with what density."""

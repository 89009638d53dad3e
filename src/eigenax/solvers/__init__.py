"""How the functions learn."""

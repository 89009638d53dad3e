"""Data: simulations, games, maps and video files."""

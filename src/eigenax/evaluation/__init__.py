"""Scores against the truth, where it is known."""

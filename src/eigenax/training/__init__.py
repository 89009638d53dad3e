"""The loop that turns steps into a trained network, and what it leaves on disk."""

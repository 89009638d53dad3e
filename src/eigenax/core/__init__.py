"""The paper's mathematics: pure functions on arrays."""

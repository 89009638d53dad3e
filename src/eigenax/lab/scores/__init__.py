"""How good modes and features are."""

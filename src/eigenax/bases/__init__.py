"""Bases of untrained functions, and the Rayleigh–Ritz problem in them."""

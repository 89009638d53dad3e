"""Functions that nothing trains, and the Rayleigh–Ritz problem in them."""

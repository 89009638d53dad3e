"""Networks and other functions that represent the eigenfunctions."""

"""Exact eigenvalues and eigenfunctions to compare with."""

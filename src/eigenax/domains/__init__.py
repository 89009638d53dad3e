"""Domains: where functions live, and which boundary conditions they obey."""

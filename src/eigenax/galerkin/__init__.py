"""Random waves and the Rayleigh–Ritz method: how local operators on known domains are solved by default."""

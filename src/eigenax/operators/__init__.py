"""The operators that are diagonalised, their sums and their multiples."""

"""What is diagonalised: operators, their sums and their multiples."""

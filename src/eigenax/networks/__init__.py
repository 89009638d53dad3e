"""What represents the eigenfunctions."""

"""Functions that nothing trains, and an operator's matrices in them; and where states are before any is known."""

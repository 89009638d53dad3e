"""Where the states are before any is known, where some may have been missed, and why some have not converged."""

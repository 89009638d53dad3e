"""Where states are before any is known, where some were missed, and why they have not converged."""

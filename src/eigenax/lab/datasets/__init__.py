"""Where data come from: simulations, videos."""

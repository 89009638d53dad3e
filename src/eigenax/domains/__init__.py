"""Where functions live, and what they do at the edge."""

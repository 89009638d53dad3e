"""What the learned modes are compared with."""

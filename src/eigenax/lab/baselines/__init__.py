"""Other methods, which learned modes are compared with."""

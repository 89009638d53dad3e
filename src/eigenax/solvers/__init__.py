"""How the functions are found: combinations of what nothing trains, and networks that are trained."""

"""What reproduces the paper and compares: experiments, their pages, data, other methods, exact spectra and scores."""

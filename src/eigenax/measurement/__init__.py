"""From functions to modes: eigenvalues and errors are measured on samples that no function was found on."""

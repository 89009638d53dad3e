"""The spectrum of a sphere in closed form."""

import math

import numpy as np
from jaxtyping import Float


def sphere_spectrum(n: int, radius: float = 1.0) -> Float[np.ndarray, " n"]:
    """The first n eigenvalues of −Δ on a sphere: l(l+1)/radius², each 2l+1 times.

    >>> sphere_spectrum(5)
    array([0., 2., 2., 2., 6.])
    >>> sphere_spectrum(2, radius=2.0)
    array([0. , 0.5])
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}")
    if not 0 < radius < math.inf:
        raise ValueError(f"radius must be positive and finite; got {radius}")
    degrees = np.array([math.isqrt(i) for i in range(n)], float)
    return degrees * (degrees + 1) / radius**2

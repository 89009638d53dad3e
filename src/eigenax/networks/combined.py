"""Linear combinations of the functions of a network."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from eigenax.core.batch import Function
from eigenax.core.rayleigh import HIGHEST


def combined(network: Function, coefficients: Inexact[Array | np.ndarray, "k n"]) -> Function:
    """The functions network(x) @ coefficients, as a pytree that compiled programs take as an argument."""
    return eqx.Partial(_combination, network, coefficients)


def _combination(network: Function, coefficients: Inexact[Array | np.ndarray, "k n"], x: Array) -> Array:
    u = network(x)
    usual = jnp.result_type(u.dtype, jnp.complex64) if jnp.iscomplexobj(coefficients) else u.dtype
    return jnp.matmul(u, jnp.asarray(coefficients, usual), precision=HIGHEST)

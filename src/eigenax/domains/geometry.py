"""The geometry of an embedded manifold: orthonormal tangents, areas, and checks of a user's embedding."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from eigenax.checks import check_reads, traced

Embedding = Callable[[Float[Array, " d"]], Float[Array, " m"]]
"""Parameters of a point in, its place in space out."""
LEAST_ANGLE = 16
"""Tangents at an angle of less than this many units in the last place cannot be told from parallel ones."""


class Frame(NamedTuple):
    """d orthonormal tangents n_a = J e_a of a manifold at one point, J the derivative of its embedding.

    J e_a · J e_b = δ_ab makes Σ_a e_a^i e_a^j the inverse metric g^ij.
    """

    directions: Float[Array, "d d"]
    """The rows e_a, in parameters."""
    tangents: Float[Array, "d m"]
    """The rows n_a, in space."""
    area: Float[Array, ""]
    """√det g: area on the manifold for each unit of volume in parameters."""
    angle: Float[Array, ""]
    """The sine of the least angle of a derivative with those before it; zero where one vanishes."""


def frame(embedding: Embedding, q: Float[Array, " d"]) -> Frame:
    """Orthonormal tangents at q, by Gram and Schmidt: g itself would square the condition of J.

    Sums instead of matrix products, which GPUs round more. A derivative that is zero or a combination of those before
    it gives no direction: at a point of no area, such as a pole, all that matters is not to be NaN.

    >>> frame(lambda q: jnp.stack([3 * q[0], 2 * q[1], q[0]]), jnp.zeros(2)).tangents
    Array([[0.94868326, 0.        , 0.31622776],
           [0.        , 1.        , 0.        ]], dtype=float32)
    """
    least = LEAST_ANGLE * jnp.finfo(q.dtype).eps
    directions, tangents, lengths, angles = [], [], [], []
    for e, derivative in zip(jnp.eye(q.size, dtype=q.dtype), jax.jacfwd(embedding)(q).T, strict=True):
        n = derivative
        for direction, tangent in zip(directions, tangents, strict=True):
            along = jnp.sum(tangent * n)
            e, n = e - along * direction, n - along * tangent
        length, whole = jnp.sqrt(jnp.sum(n**2)), jnp.sqrt(jnp.sum(derivative**2))
        independent = length > least * whole
        scale = jnp.where(independent, 1 / jnp.where(independent, length, 1), 0)
        directions.append(scale * e)
        tangents.append(scale * n)
        lengths.append(length)
        # NaN goes on to whoever looks, here as in the area.
        angles.append(jnp.where(whole == 0, 0, length / jnp.where(whole == 0, 1, whole)))
    area, angle = jnp.prod(jnp.stack(lengths)), jnp.min(jnp.stack(angles))
    return Frame(jnp.stack(directions), jnp.stack(tangents), area, angle)


def check_callable(name: str, embedding: Embedding) -> None:
    """Refuse what is no function."""
    if not callable(embedding):
        raise TypeError(
            f"{name} must be a JAX function from parameters (d,) to a point in space (m,); got "
            f"{type(embedding).__name__}. A Surface has such a function as its .embedding"
        )


def check_embedding(name: str, embedding: Embedding, q: Float[Array, "b ..."]) -> None:
    """Refuse a user's embedding that is no vector, not finite, or degenerate at samples q."""
    if q.ndim != 2:
        raise ValueError(f"{name}: a point must be a vector of parameters, shape (d,); got shape {q.shape[1:]}")
    _check_vector(name, embedding, q[0])
    values = np.asarray(jax.vmap(embedding)(q))
    bad = ~np.isfinite(values).all(1)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"{name}: the embedding returned {_show(values[i])} at q = {_show(q[i])}; it must be finite wherever the "
            "source draws parameters"
        )
    angle = np.asarray(jax.jit(jax.vmap(lambda one: frame(embedding, one).angle))(q))
    bad = ~(angle > LEAST_ANGLE * np.finfo(angle.dtype).eps)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(
            f"{name}: the derivatives of the embedding by its {q.shape[1]} parameters must be finite and linearly "
            f"independent; at q = {_show(q[i])} they are not: {_show(jax.jacfwd(embedding)(q[i]).T)}. Drop parameters "
            "that do not move the point, or keep such places out of the box"
        )


def _check_vector(name: str, embedding: Embedding, q: Float[Array, " d"]) -> None:
    must = (
        f"{name}: the embedding must take parameters of shape {q.shape} to one vector of at least {q.size} real "
        "numbers, the coordinates of the point in space"
    )
    returned = traced(must, embedding, q)
    shape = getattr(returned, "shape", None)
    real = shape is not None and jnp.issubdtype(returned.dtype, jnp.floating)
    if shape is None or not real or len(shape) != 1 or shape[0] < q.size:
        came = type(returned).__name__ if shape is None else f"shape {shape} of {returned.dtype}"
        raise ValueError(f"{must}; it returned {came}. Use jnp.stack([x, y, ...])")
    check_reads(f"{name}: the embedding", f"parameters of shape {q.shape} have", embedding, q)


def _show(x: Float[Array | np.ndarray, "..."]) -> str:
    return np.array2string(np.asarray(x), precision=4, separator=", ", threshold=16).replace("\n", "")
